//===- BuildElementwise.cpp - Elementwise ops and casts -------------------===//

#include "Formula.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

namespace {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The type in which an op of two numbers is computed: its result's, or of a
/// comparison that of its operands.
Dtype commonType(OpCall &call) {
  Dtype type = call.tensor("self").type;
  if (call.isTensor("other")) {
    const Tensor &other = call.tensor("other");
    // A tensor without dimensions is promoted like a number of its kind.
    Dtype self = type;
    auto isWeak = [&](const Tensor &one, const Tensor &than) {
      return one.getRank() == 0 && than.getRank() > 0 &&
             (pt2::isFloat(than.type) ||
              (!pt2::isFloat(one.type) && than.type != Dtype::boolean));
    };
    if (isWeak(other, call.tensor("self")))
      return self;
    if (isWeak(call.tensor("self"), other))
      return other.type;
    return promote(self, other.type);
  }
  if (pt2::isFloat(type))
    return type;
  if (!call.isIntegral("other"))
    return Dtype::f32;
  return type == Dtype::boolean ? Dtype::i64 : type;
}

template <typename Op> Values buildBinary(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value a = emit.operand(call, "self", type),
        b = emit.operand(call, "other", type);
  return {emit.make<Op>(a, b)};
}

Values buildAdd(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  if (type == Dtype::boolean) {
    Value sum = emit.add(emit.operand(call, "self", Dtype::i32),
                         emit.operand(call, "other", Dtype::i32));
    return {emit.toBoolean(sum)};
  }
  Value a = emit.operand(call, "self", type),
        b = emit.scale(emit.operand(call, "other", type),
                       call.number("alpha", 1));
  return {emit.add(a, b)};
}

Values buildSub(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value a = emit.operand(call, "self", type),
        b = emit.operand(call, "other", type);
  double alpha = call.number("alpha", 1);
  if (call.getOp().contains("rsub"))
    return {emit.sub(b, emit.scale(a, alpha))};
  return {emit.sub(a, emit.scale(b, alpha))};
}

Values buildMul(OpCall &call, Emitter &emit) {
  if (call.result().type != Dtype::boolean)
    return buildBinary<MulOp>(call, emit);
  Value product = emit.mul(emit.operand(call, "self", Dtype::i32),
                           emit.operand(call, "other", Dtype::i32));
  return {emit.toBoolean(product)};
}

/// A quotient rounded down, or toward zero, and the rest.
struct Quotient {
  Expr rounded, rest;
};

/// Floats are divided in float64, in which the rest of those with 32 bits is
/// exact up to a quotient of 2^28. A quotient of float64 that is nearer to an
/// integer than float64 can tell is that integer.
Quotient divideRounded(Expr a, Expr b, bool isDown) {
  Dtype type = a.getType();
  if (pt2::isFloat(type)) {
    a = castTo(a, Dtype::f64);
    b = castTo(b, Dtype::f64);
    Expr rounded = isDown ? floor(a / b) : trunc(a / b);
    return {castTo(rounded, type), castTo(a - rounded * b, type)};
  }
  // Integers are rounded toward zero: where the rest has another sign than b,
  // the quotient is one too large.
  Expr rounded = a / b, rest = a - rounded * b;
  if (!isDown)
    return {rounded, rest};
  Expr differs = rest * b < 0;
  return {where(differs, rounded - 1, rounded), where(differs, rest + b, rest)};
}

Quotient readQuotient(OpCall &call, Emitter &emit, bool isDown) {
  Formula f{call, emit};
  return divideRounded(f("self"), f("other"), isDown);
}

Values buildDiv(OpCall &call, Emitter &emit) {
  StringRef rounding = call.text(
      "rounding_mode", call.getOp().contains("floor_divide") ? "floor" : "");
  if (rounding == "floor")
    return {readQuotient(call, emit, /*isDown=*/true).rounded.get()};
  Values quotient = buildBinary<DivOp>(call, emit);
  if (rounding.empty() || !pt2::isFloat(call.result().type))
    return quotient;
  return {trunc({emit, quotient.front()}).get()};
}

Values buildPow(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  if (!pt2::isFloat(type)) {
    call.fail("raises integers to a power: cast them to floats");
    return {};
  }
  if (!call.isTensor("exponent")) {
    double exponent = call.number("exponent");
    // As models write them by hand: norms and activations are recognised.
    if (exponent == 2 || exponent == 3) {
      Value x = emit.operand(call, "self", type), square = emit.mul(x, x);
      return {exponent == 2 ? square : emit.mul(square, x)};
    }
    return {emit.make<PowOp>(emit.operand(call, "self", type),
                             emit.getBuilder().getF64FloatAttr(exponent))};
  }
  return {emit.make<PowerOp>(emit.operand(call, "self", type),
                             emit.operand(call, "exponent", type))};
}

/// A float function of `self`.
template <typename Op> Values buildUnary(OpCall &call, Emitter &emit) {
  return {emit.make<Op>(emit.operand(call, "self", call.result().type))};
}

Values buildNeg(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value x = emit.operand(call, "self", type);
  return {pt2::isFloat(type) ? emit.make<NegOp>(x)
                             : emit.sub(emit.number(type, 0), x)};
}

Values buildAbs(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value x = emit.operand(call, "self", type);
  if (pt2::isFloat(type))
    return {emit.make<AbsOp>(x)};
  return {emit.make<MaximumOp>(x, emit.sub(emit.number(type, 0), x))};
}

Values buildSquare(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  return {emit.mul(x, x)};
}

Values buildLog1p(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  if (auto exp = x.getDefiningOp<ExpOp>())
    return {emit.make<SoftplusOp>(exp.getX())};
  return {emit.make<Log1pOp>(x)};
}

/// log(x) times a constant.
template <int base> Values buildLogOf(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  return {emit.scale(emit.make<LogOp>(x), 1 / std::log(double(base)))};
}

Values buildTrunc(OpCall &call, Emitter &emit) {
  return {trunc(Formula{call, emit}("self")).get()};
}

/// remainder, which is Python's %, and fmod, which is C's.
Values buildRemainder(OpCall &call, Emitter &emit) {
  bool isDown = call.getOp().starts_with("aten.remainder.");
  return {readQuotient(call, emit, isDown).rest.get()};
}

Values buildReciprocal(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  return {emit.div(emit.number(type, 1), emit.operand(call, "self", type))};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Values buildGelu(OpCall &call, Emitter &emit) {
  StringRef form = call.text("approximate", "none");
  Value x = emit.operand(call, "self", call.result().type);
  return {emit.make<GeluOp>(x.getType(), x, /*tanh=*/form == "tanh")};
}

Values buildSilu(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  return {emit.make<SiluOp>(x)};
}

Values buildLeakyRelu(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  double slope = call.number("negative_slope", 0.01);
  return {emit.make<LeakyReluOp>(x.getType(), x,
                                 emit.getBuilder().getF64FloatAttr(slope))};
}

/// elu, selu and celu: scale (x, or alpha (exp(input x) - 1) where x is not
/// positive).
Values buildElu(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  double alpha = call.number("alpha", 1), scale = call.number("scale", 1),
         input = call.number("input_scale", 1);
  if (call.getOp().contains("selu")) {
    alpha = 1.6732632423543772848170429916717;
    scale = 1.0507009873554804934193349852946;
  } else if (call.getOp().contains("celu")) {
    input = 1 / alpha;
  }
  // Of input x, what is positive is too large by `input`.
  Value y = emit.make<EluOp>(x.getType(), emit.scale(x, input),
                             emit.getBuilder().getF64FloatAttr(alpha * input));
  return {emit.scale(y, scale / input)};
}

/// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
Values buildSoftplus(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value x = emit.operand(call, "self", type);
  double beta = call.number("beta", 1);
  Value scaled = emit.scale(x, beta);
  Value isAbove = emit.compare(ComparePredicate::Gt, scaled,
                               emit.number(type, call.number("threshold", 20)));
  Value y = emit.scale(emit.make<SoftplusOp>(scaled), 1 / beta);
  return {emit.select(isAbove, x, y)};
}

Value clampTo(Emitter &emit, Value x, std::optional<double> low,
              std::optional<double> high) {
  auto bound = [&](std::optional<double> value) {
    return value ? emit.getBuilder().getF64FloatAttr(*value) : FloatAttr();
  };
  return emit.make<ClampOp>(x.getType(), x, bound(low), bound(high));
}

Values buildClamp(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  std::optional<double> low, high;
  for (StringRef name : {"min", "max", "min_val", "max_val"}) {
    if (!call.has(name))
      continue;
    if (call.isTensor(name)) {
      Value bound = emit.operand(call, name, call.result().type);
      x = name.starts_with("min") ? emit.make<MaximumOp>(x, bound)
                                  : emit.make<MinimumOp>(x, bound);
      continue;
    }
    (name.starts_with("min") ? low : high) = call.number(name);
  }
  if (call.getOp().contains("hardtanh")) {
    low = low.value_or(-1);
    high = high.value_or(1);
  } else if (call.getOp().contains("relu6")) {
    low = 0;
    high = 6;
  }
  if (!pt2::isFloat(call.result().type)) {
    if (low)
      x = emit.make<MaximumOp>(x, emit.number(call.result().type, *low));
    if (high)
      x = emit.make<MinimumOp>(x, emit.number(call.result().type, *high));
    return {x};
  }
  return {low || high ? clampTo(emit, x, low, high) : x};
}

Values buildLogSigmoid(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  return {emit.make<NegOp>(emit.make<SoftplusOp>(emit.make<NegOp>(x)))};
}

Values buildGlu(OpCall &call, Emitter &emit) {
  Value x = emit.operand(call, "self", call.result().type);
  int64_t dim = call.dim("dim", Emitter::rankOf(x), -1);
  if (Emitter::rankOf(x) == 0) {
    call.fail("halves a number");
    return {};
  }
  int64_t half = Emitter::shapeOf(x)[dim] / 2;
  Value a = emit.sliceDim(x, dim, 0, half),
        b = emit.sliceDim(x, dim, half, half);
  return {emit.mul(a, emit.make<SigmoidOp>(b))};
}

//===----------------------------------------------------------------------===//
// Booleans
//===----------------------------------------------------------------------===//

template <ComparePredicate predicate>
Values buildCompare(OpCall &call, Emitter &emit) {
  Dtype type = commonType(call);
  if (type == Dtype::boolean)
    type = Dtype::i32;
  Value a = emit.operand(call, "self", type),
        b = emit.operand(call, "other", type);
  return {emit.compare(predicate, a, b)};
}

bool isBoolean(OpCall &call) {
  if (call.result().type == Dtype::boolean)
    return true;
  call.fail("works on bits of integers that are not constant: only booleans "
            "are supported");
  return false;
}

Values buildAnd(OpCall &call, Emitter &emit) {
  if (!isBoolean(call))
    return {};
  auto operand = [&](StringRef name) {
    return emit.toInteger(emit.operand(call, name, Dtype::boolean));
  };
  return {emit.toBoolean(emit.mul(operand("self"), operand("other")))};
}

Values buildOr(OpCall &call, Emitter &emit) {
  if (!isBoolean(call))
    return {};
  auto operand = [&](StringRef name) {
    return emit.toInteger(emit.operand(call, name, Dtype::boolean));
  };
  bool isXor = call.getOp().contains("xor");
  Value a = operand("self"), b = operand("other");
  return {isXor ? emit.compare(ComparePredicate::Ne, a, b)
                : emit.toBoolean(emit.add(a, b))};
}

Values buildNot(OpCall &call, Emitter &emit) {
  if (!isBoolean(call))
    return {};
  Value x = emit.operand(call, "self", Dtype::boolean);
  return {emit.compare(ComparePredicate::Eq, emit.toInteger(x),
                       emit.number(Dtype::i32, 0))};
}

Values buildIsNan(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  return {emit.compare(ComparePredicate::Ne, x, x)};
}

Values buildIsInf(OpCall &call, Emitter &emit) {
  Dtype type = call.tensor("self").type;
  if (!pt2::isFloat(type))
    return {emit.constant(
        HostTensor::splat(Dtype::boolean, call.result().shape, {}))};
  Value x = emit.make<AbsOp>(emit.value(call.tensor("self")));
  return {emit.compare(ComparePredicate::Eq, x, emit.number(type, INFINITY))};
}

Values buildIsFinite(OpCall &call, Emitter &emit) {
  Dtype type = call.tensor("self").type;
  if (!pt2::isFloat(type))
    return {emit.constant(
        HostTensor::splat(Dtype::boolean, call.result().shape, {0, 1}))};
  return {(abs(Formula{call, emit}.as("self", type)) < INFINITY).get()};
}

Values buildWhere(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value condition = emit.operand(call, "condition", Dtype::boolean);
  Value a = emit.operand(call, "self", type),
        b = emit.operand(call, "other", type);
  return {emit.broadcastTo(emit.select(condition, a, b), call.result().shape)};
}

Values buildMaskedFill(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  Value mask = emit.operand(call, "mask", Dtype::boolean);
  return {emit.select(mask, emit.operand(call, "value", type),
                      emit.operand(call, "self", type))};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// To another type or place, or to none.
Values buildTo(OpCall &call, Emitter &emit) {
  StringRef name = call.has("self") ? "self" : "input";
  call.has("other"); // to.other, type_as: the result's type is known
  return {emit.operand(call, name, call.result().type)};
}

Values buildDetach(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  return {emit.make<DetachOp>(x)};
}

const OpRow rows[] = {
    {"aten.add.Tensor", buildAdd},
    {"aten.add.Scalar", buildAdd},
    {"aten.sub.Tensor", buildSub},
    {"aten.sub.Scalar", buildSub},
    {"aten.rsub.Tensor", buildSub},
    {"aten.rsub.Scalar", buildSub},
    {"aten.mul.Tensor", buildMul},
    {"aten.mul.Scalar", buildMul},
    {"aten.div.Tensor", buildDiv},
    {"aten.div.Scalar", buildDiv},
    {"aten.div.Tensor_mode", buildDiv},
    {"aten.div.Scalar_mode", buildDiv},
    {"aten.floor_divide.default", buildDiv},
    {"aten.floor_divide.Scalar", buildDiv},
    {"aten.pow.Tensor_Scalar", buildPow, "integers"},
    {"aten.pow.Tensor_Tensor", buildPow, "integers"},
    {"aten.pow.Scalar", buildPow, "integers"},
    {"aten.remainder.Tensor", buildRemainder},
    {"aten.remainder.Scalar", buildRemainder},
    {"aten.remainder.Scalar_Tensor", buildRemainder},
    {"aten.fmod.Tensor", buildRemainder},
    {"aten.fmod.Scalar", buildRemainder},
    {"aten.maximum.default", buildBinary<MaximumOp>},
    {"aten.minimum.default", buildBinary<MinimumOp>},
    {"aten.neg.default", buildNeg},
    {"aten.abs.default", buildAbs},
    {"aten.square.default", buildSquare},
    {"aten.reciprocal.default", buildReciprocal},
    {"aten.exp.default", buildUnary<ExpOp>},
    {"aten.log.default", buildUnary<LogOp>},
    {"aten.log1p.default", buildLog1p},
    {"aten.expm1.default", buildUnary<Expm1Op>},
    {"aten.log2.default", buildLogOf<2>},
    {"aten.log10.default", buildLogOf<10>},
    {"aten.sin.default", buildUnary<SinOp>},
    {"aten.cos.default", buildUnary<CosOp>},
    {"aten.sign.default", buildUnary<SignOp>},
    {"aten.floor.default", buildUnary<FloorOp>},
    {"aten.ceil.default", buildUnary<CeilOp>},
    {"aten.round.default", buildUnary<RoundOp>},
    {"aten.trunc.default", buildTrunc},
    {"aten.sqrt.default", buildUnary<SqrtOp>},
    {"aten.rsqrt.default", buildUnary<RsqrtOp>},
    {"aten.atan.default", buildUnary<AtanOp>},
    {"aten.tanh.default", buildUnary<TanhOp>},
    {"aten.erf.default", buildUnary<ErfOp>},
    {"aten.sigmoid.default", buildUnary<SigmoidOp>},
    {"aten.relu.default", buildUnary<ReluOp>},
    {"aten.gelu.default", buildGelu},
    {"aten.silu.default", buildSilu},
    {"aten.leaky_relu.default", buildLeakyRelu},
    {"aten.elu.default", buildElu},
    {"aten.selu.default", buildElu},
    {"aten.celu.default", buildElu},
    {"aten.softplus.default", buildSoftplus},
    {"aten.clamp.default", buildClamp},
    {"aten.clamp.Tensor", buildClamp},
    {"aten.clamp_min.default", buildClamp},
    {"aten.clamp_min.Tensor", buildClamp},
    {"aten.clamp_max.default", buildClamp},
    {"aten.clamp_max.Tensor", buildClamp},
    {"aten.hardtanh.default", buildClamp},
    {"aten.relu6.default", buildClamp},
    {"aten.hardsigmoid.default", buildUnary<HardsigmoidOp>},
    {"aten.hardswish.default", buildUnary<HardswishOp>},
    {"aten.mish.default", buildUnary<MishOp>},
    {"aten.log_sigmoid.default", buildLogSigmoid},
    {"aten.glu.default", buildGlu},
    {"aten.eq.Tensor", buildCompare<ComparePredicate::Eq>},
    {"aten.eq.Scalar", buildCompare<ComparePredicate::Eq>},
    {"aten.ne.Tensor", buildCompare<ComparePredicate::Ne>},
    {"aten.ne.Scalar", buildCompare<ComparePredicate::Ne>},
    {"aten.lt.Tensor", buildCompare<ComparePredicate::Lt>},
    {"aten.lt.Scalar", buildCompare<ComparePredicate::Lt>},
    {"aten.le.Tensor", buildCompare<ComparePredicate::Le>},
    {"aten.le.Scalar", buildCompare<ComparePredicate::Le>},
    {"aten.gt.Tensor", buildCompare<ComparePredicate::Gt>},
    {"aten.gt.Scalar", buildCompare<ComparePredicate::Gt>},
    {"aten.ge.Tensor", buildCompare<ComparePredicate::Ge>},
    {"aten.ge.Scalar", buildCompare<ComparePredicate::Ge>},
    {"aten.logical_and.default", buildAnd},
    {"aten.bitwise_and.Tensor", buildAnd, "integers"},
    {"aten.__and__.Tensor", buildAnd, "integers"},
    {"aten.logical_or.default", buildOr},
    {"aten.logical_xor.default", buildOr},
    {"aten.bitwise_or.Tensor", buildOr, "integers"},
    {"aten.bitwise_xor.Tensor", buildOr, "integers"},
    {"aten.__or__.Tensor", buildOr, "integers"},
    {"aten.__xor__.Tensor", buildOr, "integers"},
    {"aten.logical_not.default", buildNot},
    {"aten.bitwise_not.default", buildNot, "integers"},
    {"aten.isnan.default", buildIsNan},
    {"aten.isinf.default", buildIsInf},
    {"aten.isfinite.default", buildIsFinite},
    {"aten.where.self", buildWhere},
    {"aten.where.ScalarOther", buildWhere},
    {"aten.where.ScalarSelf", buildWhere},
    {"aten.where.Scalar", buildWhere},
    {"aten.masked_fill.Scalar", buildMaskedFill},
    {"aten.masked_fill.Tensor", buildMaskedFill},
    {"aten.to.dtype", buildTo},
    {"aten.to.dtype_layout", buildTo},
    {"aten.to.device", buildTo},
    {"aten.to.other", buildTo},
    {"aten.type_as.default", buildTo},
    {"aten._to_copy.default", buildTo},
    {"aten.clone.default", buildTo},
    {"aten.contiguous.default", buildTo},
    {"aten.alias.default", buildTo},
    {"aten.lift_fresh_copy.default", buildTo},
    {"aten.detach.default", buildDetach},
};

} // namespace

ArrayRef<OpRow> pt2::elementwiseRows() { return rows; }
