//===- Activations.cpp - Activations made of other ops --------------------===//
//
// Their gradients are those of what they are made of. At kinks these are what
// PyTorch has, and nothing that is not chosen overflows: infinity times a zero
// of the gradient would be NaN.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

using namespace mlir;
using namespace mlir::pp;

PP_DECOMPOSE(SiluOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  return {b.castLike(b.mul(x, b.make<SigmoidOp>(x)), getResult())};
}

PP_DECOMPOSE(MishOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  Value gate = b.make<TanhOp>(b.make<SoftplusOp>(x));
  return {b.castLike(b.mul(x, gate), getResult())};
}

/// (x + 3) / 6 of x between -3 and 3. The bounds are exact in x, so that the
/// gradient ends there.
static Value buildHardsigmoid(TensorBuilder &b, Value x) {
  Builder &builder = b.builder;
  Value bounded = b.make<ClampOp>(x, builder.getF64FloatAttr(-3),
                                  builder.getF64FloatAttr(3));
  return b.div(b.add(bounded, b.scalar(x, 3)), b.scalar(x, 6));
}

PP_DECOMPOSE(HardsigmoidOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  return {b.castLike(buildHardsigmoid(b, x), getResult())};
}

PP_DECOMPOSE(HardswishOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  return {b.castLike(b.mul(x, buildHardsigmoid(b, x)), getResult())};
}

PP_DECOMPOSE(LeakyReluOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  Value isPositive = b.compare(ComparePredicate::Gt, x, b.scalar(x, 0));
  Value scaled = b.scale(x, getSlope().convertToDouble());
  return {b.castLike(b.select(isPositive, x, scaled), getResult())};
}

/// The exponential is of 0 where x is positive.
PP_DECOMPOSE(EluOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX()), zero = b.scalar(x, 0);
  Value isPositive = b.compare(ComparePredicate::Gt, x, zero);
  Value tail = b.make<Expm1Op>(b.select(isPositive, zero, x));
  Value scaled = b.scale(tail, getAlpha().convertToDouble());
  return {b.castLike(b.select(isPositive, x, scaled), getResult())};
}
