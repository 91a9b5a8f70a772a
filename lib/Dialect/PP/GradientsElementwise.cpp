//===- GradientsElementwise.cpp - Adjoints of elementwise ops -------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Unary ops
//===----------------------------------------------------------------------===//

/// Defines the adjoint of `op y = OpT(x)`: dx from x, y and dy.
#define PP_UNARY_ADJOINT(OpT, formula)                                         \
  PP_ADJOINT(OpT) {                                                            \
    TensorBuilder b(builder, getLoc());                                        \
    Value x = getX(), y = getResult(), dy = resultGrads[0];                    \
    (void)x, (void)y, (void)dy;                                                \
    operandGrads[0] = formula;                                                 \
    return success();                                                          \
  }

/// Returns dy where y = f(x) is positive, else zero.
static Value reluGrad(TensorBuilder &b, Value y, Value dy) {
  // Negated comparison, so that a NaN in y keeps dy.
  Value zero = b.scalar(y, 0);
  return b.select(b.compare(ComparePredicate::Le, y, zero), zero, dy);
}

static Value absGrad(TensorBuilder &b, Value x, Value dy) {
  Value zero = b.scalar(x, 0);
  Value isNegative = b.compare(ComparePredicate::Lt, x, zero);
  Value isZero = b.compare(ComparePredicate::Eq, x, zero);
  return b.select(isZero, zero, b.select(isNegative, b.make<NegOp>(dy), dy));
}

static Value oneMinus(TensorBuilder &b, Value x) {
  return b.sub(b.scalar(x, 1), x);
}

/// d/dx x^p = p x^(p - 1), and 0 for p = 0.
static Value powGrad(TensorBuilder &b, Value x, double exponent, Value dy) {
  if (exponent == 0)
    return Value();
  Value power = b.make<PowOp>(x, b.builder.getF64FloatAttr(exponent - 1));
  return b.mul(dy, b.scale(power, exponent));
}

/// Returns dy between the bounds, else zero.
static Value clampGrad(TensorBuilder &b, Value x, std::optional<APFloat> min,
                       std::optional<APFloat> max, Value dy) {
  auto keepWhere = [&](ComparePredicate predicate, const APFloat &bound) {
    Value limit = b.scalar(x, bound.convertToDouble());
    dy = b.select(b.compare(predicate, x, limit), dy, b.scalar(x, 0));
  };
  if (min)
    keepWhere(ComparePredicate::Gt, *min);
  if (max)
    keepWhere(ComparePredicate::Lt, *max);
  return dy;
}

PP_UNARY_ADJOINT(CheckpointOp, dy)
PP_UNARY_ADJOINT(NegOp, b.make<NegOp>(dy))
PP_UNARY_ADJOINT(AbsOp, absGrad(b, x, dy))
PP_UNARY_ADJOINT(ExpOp, b.mul(dy, y))
PP_UNARY_ADJOINT(LogOp, b.div(dy, x))
PP_UNARY_ADJOINT(Expm1Op, b.mul(dy, b.exp(x)))
PP_UNARY_ADJOINT(Log1pOp, b.div(dy, b.add(x, b.scalar(x, 1))))
PP_UNARY_ADJOINT(SinOp, b.mul(dy, b.make<CosOp>(x)))
PP_UNARY_ADJOINT(CosOp, b.make<NegOp>(b.mul(dy, b.make<SinOp>(x))))
PP_UNARY_ADJOINT(SignOp, Value())
PP_UNARY_ADJOINT(FloorOp, Value())
PP_UNARY_ADJOINT(CeilOp, Value())
PP_UNARY_ADJOINT(RoundOp, Value())
PP_UNARY_ADJOINT(SqrtOp, b.div(b.scale(dy, 0.5), y))
PP_UNARY_ADJOINT(RsqrtOp, b.mul(b.scale(dy, -0.5), b.mul(y, b.mul(y, y))))
PP_UNARY_ADJOINT(AtanOp, b.div(dy, b.add(b.mul(x, x), b.scalar(x, 1))))
PP_UNARY_ADJOINT(TanhOp, b.mul(dy, oneMinus(b, b.mul(y, y))))
PP_UNARY_ADJOINT(ErfOp, b.mul(b.scale(dy, 2 * llvm::numbers::inv_sqrtpi),
                              b.exp(b.make<NegOp>(b.mul(x, x)))))
PP_UNARY_ADJOINT(SigmoidOp, b.mul(dy, b.mul(y, oneMinus(b, y))))
PP_UNARY_ADJOINT(SoftplusOp, b.mul(dy, b.make<SigmoidOp>(x)))
PP_UNARY_ADJOINT(ReluOp, reluGrad(b, y, dy))
PP_UNARY_ADJOINT(GeluOp, b.make<GeluGradOp>(x, dy, getTanh()))
PP_UNARY_ADJOINT(PowOp, powGrad(b, x, getExponent().convertToDouble(), dy))
PP_UNARY_ADJOINT(ClampOp, clampGrad(b, x, getMin(), getMax(), dy))
PP_UNARY_ADJOINT(DropoutOp, b.make<DropoutOp>(dy, getKey(), getPAttr(),
                                              getStreamAttr(), getTileAttr()))

PP_ADJOINT(CastOp) {
  Type from = getElementTypeOrSelf(getX());
  if (isa<FloatType>(from) && isa<FloatType>(getElementTypeOrSelf(getType())))
    operandGrads[0] =
        TensorBuilder(builder, getLoc()).cast(resultGrads[0], from);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops with broadcasting
//===----------------------------------------------------------------------===//

/// Sums a gradient over the dimensions along which an operand of `shape` was
/// broadcast.
static Value reduceToShape(TensorBuilder &b, Value grad,
                           ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = getShape(grad);
  int64_t added = from.size() - shape.size();
  SmallVector<int64_t> dims;
  for (int64_t i = 0, e = from.size(); i < e; ++i)
    if (i < added || from[i] != shape[i - added])
      dims.push_back(i);
  return b.sumTo(grad, dims, shape);
}

/// Sets the gradients of operands `first` and `first + 1` that are needed;
/// `lhs` and `rhs` build them in the result's shape.
static void setBroadcastGrads(Operation *op, TensorBuilder &b, unsigned first,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGrads,
                              llvm::function_ref<Value()> lhs,
                              llvm::function_ref<Value()> rhs) {
  for (unsigned i = first; i < first + 2; ++i)
    if (needed[i])
      operandGrads[i] = reduceToShape(b, i == first ? lhs() : rhs(),
                                      getShape(op->getOperand(i)));
}

/// Defines the adjoint of `y = OpT(lhs, rhs)`.
#define PP_BINARY_ADJOINT(OpT, lhsFormula, rhsFormula)                         \
  PP_ADJOINT(OpT) {                                                            \
    TensorBuilder b(builder, getLoc());                                        \
    Value lhs = getLhs(), rhs = getRhs(), y = getResult();                     \
    Value dy = resultGrads[0];                                                 \
    (void)lhs, (void)rhs, (void)y;                                             \
    setBroadcastGrads(                                                         \
        *this, b, 0, needed, operandGrads, [&] { return lhsFormula; },         \
        [&] { return rhsFormula; });                                           \
    return success();                                                          \
  }

/// Returns dy where `self` was chosen because `lost` is false for it and
/// `other`; half of dy where both are equal.
static Value extremumGrad(TensorBuilder &b, ComparePredicate lost, Value self,
                          Value other, Value dy) {
  Value isEqual = b.compare(ComparePredicate::Eq, self, other);
  return b.select(b.compare(lost, self, other), b.scalar(dy, 0),
                  b.select(isEqual, b.scale(dy, 0.5), dy));
}

/// b a^(b - 1), and 0 where b = 0, though a may be 0.
static Value powerGradOfBase(TensorBuilder &b, Value base, Value exponent,
                             Value dy) {
  Value zero = b.scalar(dy, 0);
  Value rest = b.sub(exponent, b.scalar(exponent, 1));
  Value slope = b.mul(exponent, b.make<PowerOp>(base, rest));
  return b.select(b.compare(ComparePredicate::Eq, exponent, zero), zero,
                  b.mul(dy, slope));
}

/// a^b log(a), and 0 where a = 0 and b is not negative.
static Value powerGradOfExponent(TensorBuilder &b, Value base, Value exponent,
                                 Value y, Value dy) {
  Value zero = b.scalar(dy, 0);
  Value grad = b.mul(dy, b.mul(y, b.make<LogOp>(base)));
  Value atZero =
      b.select(b.compare(ComparePredicate::Ge, exponent, zero), zero, grad);
  return b.select(b.compare(ComparePredicate::Eq, base, zero), atZero, grad);
}

PP_BINARY_ADJOINT(AddOp, dy, dy)
PP_BINARY_ADJOINT(SubOp, dy, b.make<NegOp>(dy))
PP_BINARY_ADJOINT(MulOp, b.mul(dy, rhs), b.mul(dy, lhs))
PP_BINARY_ADJOINT(DivOp, b.div(dy, rhs),
                  b.make<NegOp>(b.div(b.mul(dy, y), rhs)))
PP_BINARY_ADJOINT(MaximumOp,
                  extremumGrad(b, ComparePredicate::Lt, lhs, rhs, dy),
                  extremumGrad(b, ComparePredicate::Lt, rhs, lhs, dy))
PP_BINARY_ADJOINT(MinimumOp,
                  extremumGrad(b, ComparePredicate::Gt, lhs, rhs, dy),
                  extremumGrad(b, ComparePredicate::Gt, rhs, lhs, dy))

PP_BINARY_ADJOINT(PowerOp, powerGradOfBase(b, lhs, rhs, dy),
                  powerGradOfExponent(b, lhs, rhs, y, dy))

PP_ADJOINT(SelectOp) {
  TensorBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  setBroadcastGrads(
      *this, b, 1, needed, operandGrads,
      [&] { return b.select(getCondition(), dy, b.scalar(dy, 0)); },
      [&] { return b.select(getCondition(), b.scalar(dy, 0), dy); });
  return success();
}
