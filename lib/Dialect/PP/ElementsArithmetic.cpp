//===- ElementsArithmetic.cpp - Scalar code of elementwise ops ------------===//

#include "ElementBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Unary ops
//===----------------------------------------------------------------------===//

/// Defines an op's element as a formula of x, the operand's element.
#define PP_UNARY_ELEMENT(OpT, formula)                                         \
  PP_ELEMENT(OpT) {                                                            \
    ElementBuilder b(builder, getLoc());                                       \
    Value x = read(0, index);                                                  \
    return formula;                                                            \
  }

static Value emitSigmoid(ElementBuilder &b, Value x) {
  Value one = b.constant(x.getType(), 1);
  return b.div(one, b.add(one, b.exp(b.neg(x))));
}

/// Negated comparison: NaN stays NaN, and it is one machine instruction.
static Value emitRelu(ElementBuilder &b, Value x) {
  Value zero = b.constant(x.getType(), 0);
  return b.select(b.lessThan(x, zero), zero, x);
}

/// max(x, 0) + log(1 + exp(-|x|)), which cannot overflow.
static Value emitSoftplus(ElementBuilder &b, Value x) {
  Value tail = b.exp(b.neg(b.makeFloat<math::AbsFOp>(x)));
  return b.add(emitRelu(b, x), b.makeFloat<math::Log1pOp>(tail));
}

/// tanh(x / 2) (exp(x) + 1), in which nothing cancels.
static Value emitExpm1(ElementBuilder &b, Value x) {
  Value half = b.makeFloat<math::TanhOp>(b.scale(x, 0.5));
  return b.mul(half, b.shift(b.exp(x), 1));
}

static Value emitSign(ElementBuilder &b, Value x) {
  Value zero = b.constant(x.getType(), 0);
  Value below =
      b.select(b.lessThan(x, zero), b.constant(x.getType(), -1), zero);
  return b.select(b.lessThan(zero, x), b.constant(x.getType(), 1), below);
}

/// Roots and powers of few factors are cheaper, and are what PyTorch computes.
static Value emitPow(ElementBuilder &b, Value x, double exponent) {
  Value one = b.constant(x.getType(), 1);
  if (exponent == 0)
    return one;
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return b.mul(x, x);
  if (exponent == 3)
    return b.mul(b.mul(x, x), x);
  if (exponent == 0.5)
    return b.makeFloat<math::SqrtOp>(x);
  if (exponent == -0.5)
    return b.makeFloat<math::RsqrtOp>(x);
  if (exponent == -1)
    return b.div(one, x);
  if (exponent == -2)
    return emitPow(b, b.div(one, x), 2);
  return b.makeFloat<math::PowFOp>(x, b.constant(x.getType(), exponent));
}

/// The maximum first: of bounds in the wrong order `max` wins. NaN stays NaN.
static Value emitClamp(ElementBuilder &b, Value x, std::optional<APFloat> min,
                       std::optional<APFloat> max) {
  if (min) {
    Value bound = b.constant(x.getType(), min->convertToDouble());
    x = b.select(b.lessThan(x, bound), bound, x);
  }
  if (max) {
    Value bound = b.constant(x.getType(), max->convertToDouble());
    x = b.select(b.lessThan(bound, x), bound, x);
  }
  return x;
}

PP_UNARY_ELEMENT(NegOp, b.neg(x))
PP_UNARY_ELEMENT(AbsOp, b.makeFloat<math::AbsFOp>(x))
PP_UNARY_ELEMENT(ExpOp, b.exp(x))
PP_UNARY_ELEMENT(LogOp, b.makeFloat<math::LogOp>(x))
PP_UNARY_ELEMENT(Expm1Op, emitExpm1(b, x))
PP_UNARY_ELEMENT(Log1pOp, b.makeFloat<math::Log1pOp>(x))
PP_UNARY_ELEMENT(SinOp, b.makeFloat<math::SinOp>(x))
PP_UNARY_ELEMENT(CosOp, b.makeFloat<math::CosOp>(x))
PP_UNARY_ELEMENT(SignOp, emitSign(b, x))
PP_UNARY_ELEMENT(FloorOp, b.makeFloat<math::FloorOp>(x))
PP_UNARY_ELEMENT(CeilOp, b.makeFloat<math::CeilOp>(x))
PP_UNARY_ELEMENT(RoundOp, b.makeFloat<math::RoundEvenOp>(x))
PP_UNARY_ELEMENT(SqrtOp, b.makeFloat<math::SqrtOp>(x))
PP_UNARY_ELEMENT(RsqrtOp, b.makeFloat<math::RsqrtOp>(x))
PP_UNARY_ELEMENT(AtanOp, b.makeFloat<math::AtanOp>(x))
PP_UNARY_ELEMENT(TanhOp, b.makeFloat<math::TanhOp>(x))
PP_UNARY_ELEMENT(ErfOp, b.makeFloat<math::ErfOp>(x))
PP_UNARY_ELEMENT(SigmoidOp, emitSigmoid(b, x))
PP_UNARY_ELEMENT(SoftplusOp, emitSoftplus(b, x))
PP_UNARY_ELEMENT(ReluOp, emitRelu(b, x))
PP_UNARY_ELEMENT(PowOp, emitPow(b, x, getExponent().convertToDouble()))
PP_UNARY_ELEMENT(ClampOp, emitClamp(b, x, getMin(), getMax()))
PP_UNARY_ELEMENT(DetachOp, x)
PP_UNARY_ELEMENT(CheckpointOp, x)

//===----------------------------------------------------------------------===//
// gelu
//===----------------------------------------------------------------------===//

namespace {
/// The factor of x in gelu, and its derivative by x.
struct GeluGate {
  Value value, derivative;
};
} // namespace

/// Phi(x), the normal distribution function, and its density.
static GeluGate emitNormalGate(ElementBuilder &b, Value x, bool derivative) {
  Value erf = b.makeFloat<math::ErfOp>(b.scale(x, 1 / llvm::numbers::sqrt2));
  GeluGate gate{b.shift(b.scale(erf, 0.5), 0.5), Value()};
  if (derivative)
    gate.derivative = b.scale(b.exp(b.scale(b.mul(x, x), -0.5)),
                              llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2);
  return gate;
}

/// (1 + tanh(u)) / 2 = sigmoid(2u), with u = sqrt(2/pi) (x + 0.044715 x³).
static GeluGate emitTanhGate(ElementBuilder &b, Value x, bool derivative) {
  constexpr double kCubic = 0.044715;
  constexpr double kFactor =
      2 * llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
  Value square = b.mul(x, x);
  Value twoU = b.mul(b.scale(x, kFactor), b.shift(b.scale(square, kCubic), 1));
  GeluGate gate{emitSigmoid(b, twoU), Value()};
  if (!derivative)
    return gate;
  Value inner = b.shift(b.scale(square, 3 * kCubic * kFactor), kFactor);
  Value complement = b.sub(b.constant(x.getType(), 1), gate.value);
  gate.derivative = b.mul(b.mul(gate.value, complement), inner);
  return gate;
}

static GeluGate emitGate(ElementBuilder &b, Value x, bool tanh,
                         bool derivative) {
  return tanh ? emitTanhGate(b, x, derivative)
              : emitNormalGate(b, x, derivative);
}

PP_UNARY_ELEMENT(GeluOp, b.mul(x, emitGate(b, x, getTanh(), false).value))

PP_ELEMENT(GeluGradOp) {
  ElementBuilder b(builder, getLoc());
  Value x = read(0, index), dy = read(1, index);
  GeluGate gate = emitGate(b, x, getTanh(), true);
  return b.mul(dy, b.add(gate.value, b.mul(x, gate.derivative)));
}

//===----------------------------------------------------------------------===//
// Ops with broadcasting
//===----------------------------------------------------------------------===//

/// Reads the element of operand `i` for the element at `index` of the broadcast
/// result.
static Value readBroadcast(ElementBuilder &b, Operation *op, unsigned i,
                           ValueRange index, ElementReader read) {
  ArrayRef<int64_t> shape = getShape(op->getOperand(i));
  SmallVector<Value> at(index.take_back(shape.size()));
  for (auto [position, size] : llvm::zip(at, shape))
    if (size == 1)
      position = b.indexConstant(0);
  return read(i, at);
}

/// Creates the floating-point or the integer op, by the type of its operands.
template <typename FloatOp, typename IntOp>
static Value emitBinary(Operation *op, OpBuilder &builder, ValueRange index,
                        ElementReader read) {
  ElementBuilder b(builder, op->getLoc());
  Value lhs = readBroadcast(b, op, 0, index, read);
  Value rhs = readBroadcast(b, op, 1, index, read);
  if (isa<FloatType>(lhs.getType()))
    return b.makeFloat<FloatOp>(lhs, rhs);
  return b.make<IntOp>(lhs, rhs);
}

#define PP_BINARY_ELEMENT(OpT, FloatOp, IntOp)                                 \
  PP_ELEMENT(OpT) {                                                            \
    return emitBinary<arith::FloatOp, arith::IntOp>(*this, builder, index,     \
                                                    read);                     \
  }
PP_BINARY_ELEMENT(AddOp, AddFOp, AddIOp)
PP_BINARY_ELEMENT(SubOp, SubFOp, SubIOp)
PP_BINARY_ELEMENT(MulOp, MulFOp, MulIOp)
PP_BINARY_ELEMENT(MaximumOp, MaximumFOp, MaxSIOp)
PP_BINARY_ELEMENT(MinimumOp, MinimumFOp, MinSIOp)

PP_ELEMENT(PowerOp) {
  ElementBuilder b(builder, getLoc());
  return b.makeFloat<math::PowFOp>(readBroadcast(b, *this, 0, index, read),
                                   readBroadcast(b, *this, 1, index, read));
}

/// Of integers, x / 0 is 0, and least / -1 is least: neither may stop the
/// process, because a step whose counts are zero runs to its end.
PP_ELEMENT(DivOp) {
  ElementBuilder b(builder, getLoc());
  Value lhs = readBroadcast(b, *this, 0, index, read);
  Value rhs = readBroadcast(b, *this, 1, index, read);
  Type type = lhs.getType();
  if (isa<FloatType>(type))
    return b.div(lhs, rhs);
  auto is = [&](int64_t value) {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, rhs,
                                 b.constantInt(type, value));
  };
  Value isZero = is(0), isMinusOne = is(-1);
  Value zero = b.constantInt(type, 0), one = b.constantInt(type, 1);
  Value divisor = b.select(isZero, one, b.select(isMinusOne, one, rhs));
  Value quotient = b.make<arith::DivSIOp>(lhs, divisor);
  Value negative = b.make<arith::SubIOp>(zero, lhs);
  return b.select(isZero, zero, b.select(isMinusOne, negative, quotient));
}

PP_ELEMENT(AccumulateOp) {
  ElementBuilder b(builder, getLoc());
  return b.add(read(0, index), read(1, index));
}

namespace {
struct Predicates {
  arith::CmpFPredicate onFloats;
  arith::CmpIPredicate onInts;
};
} // namespace

static Predicates getPredicates(ComparePredicate predicate) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  switch (predicate) {
  case ComparePredicate::Eq:
    return {F::OEQ, I::eq};
  case ComparePredicate::Ne:
    return {F::UNE, I::ne};
  case ComparePredicate::Lt:
    return {F::OLT, I::slt};
  case ComparePredicate::Le:
    return {F::OLE, I::sle};
  case ComparePredicate::Gt:
    return {F::OGT, I::sgt};
  case ComparePredicate::Ge:
    return {F::OGE, I::sge};
  }
  llvm_unreachable("all predicates are listed");
}

PP_ELEMENT(CompareOp) {
  ElementBuilder b(builder, getLoc());
  Value lhs = readBroadcast(b, *this, 0, index, read);
  Value rhs = readBroadcast(b, *this, 1, index, read);
  Predicates predicates = getPredicates(getPredicate());
  if (isa<FloatType>(lhs.getType()))
    return b.makeFloat<arith::CmpFOp>(predicates.onFloats, lhs, rhs);
  return b.make<arith::CmpIOp>(predicates.onInts, lhs, rhs);
}

PP_ELEMENT(SelectOp) {
  ElementBuilder b(builder, getLoc());
  Value condition = readBroadcast(b, *this, 0, index, read);
  Value lhs = readBroadcast(b, *this, 1, index, read);
  Value rhs = readBroadcast(b, *this, 2, index, read);
  return b.select(condition, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

static Value emitFloatCast(ElementBuilder &b, Value x, FloatType to) {
  unsigned from = cast<FloatType>(x.getType()).getWidth();
  if (from == to.getWidth())
    return x;
  if (from < to.getWidth())
    return b.make<arith::ExtFOp>(to, x);
  return arith::TruncFOp::create(b.builder, b.loc, to, x);
}

/// Rounds toward zero; x out of range becomes the nearest integer that fits,
/// and NaN becomes 0.
static Value emitToInt(ElementBuilder &b, Value x, IntegerType to) {
  unsigned width = to.getWidth();
  Value least = b.constant(x.getType(), -std::ldexp(1.0, width - 1));
  Value bound = b.constant(x.getType(), std::ldexp(1.0, width - 1));
  auto isAtLeast = [&](Value limit) -> Value {
    return arith::CmpFOp::create(b.builder, b.loc, arith::CmpFPredicate::OGE, x,
                                 limit);
  };
  Value isNotTooSmall = isAtLeast(least), isTooLarge = isAtLeast(bound);
  Value isTooSmall = b.lessThan(x, least);
  Value isInside = b.select(isTooLarge, b.constantInt(b.builder.getI1Type(), 0),
                            isNotTooSmall);
  Value inside = b.make<arith::FPToSIOp>(
      to, b.select(isInside, x, b.constant(x.getType(), 0)));
  Value most = b.constantInt(to, llvm::maxIntN(width));
  Value fewest = b.constantInt(to, llvm::minIntN(width));
  return b.select(isTooLarge, most, b.select(isTooSmall, fewest, inside));
}

static Value emitFromInt(ElementBuilder &b, Value x, FloatType to) {
  // i1 is 0 or 1, all others are signed.
  if (x.getType().isInteger(1))
    return b.make<arith::UIToFPOp>(to, x);
  return b.make<arith::SIToFPOp>(to, x);
}

static Value emitIntCast(ElementBuilder &b, Value x, IntegerType to) {
  unsigned from = x.getType().getIntOrFloatBitWidth();
  if (from == to.getWidth())
    return x;
  if (from > to.getWidth())
    return b.make<arith::TruncIOp>(to, x);
  if (from == 1)
    return b.make<arith::ExtUIOp>(to, x);
  return b.make<arith::ExtSIOp>(to, x);
}

PP_ELEMENT(CastOp) {
  ElementBuilder b(builder, getLoc());
  Value x = read(0, index);
  Type to = getElementTypeOrSelf(getType());
  if (auto intType = dyn_cast<IntegerType>(to))
    return isa<FloatType>(x.getType()) ? emitToInt(b, x, intType)
                                       : emitIntCast(b, x, intType);
  auto compute = cast<FloatType>(getComputeType(getResult()));
  if (!isa<FloatType>(x.getType()))
    x = emitFromInt(b, x, compute);
  // From f64 to bf16 through f32: no CPU has the direct conversion, and
  // compilers call a library for it.
  return emitFloatCast(b, x, compute);
}
