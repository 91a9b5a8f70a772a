//===- DecompositionsModel.cpp - Composites without a gradient ------------===//
//
// Replaced in phase model, while shapes are global: a mean divides by the count
// of the global batch.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

PP_DECOMPOSE(SiluOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getX());
  return {b.castLike(b.mul(x, b.make<SigmoidOp>(x)), getResult())};
}

DecomposeAt ReduceOp::getDecomposeAt() {
  return getKind() == ReduceKind::Mean ? DecomposeAt::Model
                                       : DecomposeAt::Never;
}

/// A sum times a constant, one over the count.
SmallVector<Value> ReduceOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  double count = 1;
  for (int64_t dim : getDims())
    count *= getShape(getX())[dim];
  Value x = b.castToStatistics(getX());
  Value sum = b.make<ReduceOp>(ReduceKind::Sum, x, getDims(), getKeepDims());
  return {b.castLike(b.scale(sum, 1 / count), getResult())};
}

PP_DECOMPOSE(LayerNormOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value rows = b.make<NormalizeOp>(b.castToStatistics(getX()),
                                   builder.getUnitAttr(), getEpsAttr());
  Value scaled = b.mul(rows, b.castToStatistics(getScale()));
  return {
      b.castLike(b.add(scaled, b.castToStatistics(getBias())), getResult())};
}

PP_DECOMPOSE(RmsNormOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value rows =
      b.make<NormalizeOp>(b.castToStatistics(getX()), UnitAttr(), getEpsAttr());
  return {b.castLike(b.mul(rows, b.castToStatistics(getScale())), getResult())};
}

PP_DECOMPOSE(CrossEntropyOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value sum = b.sumAll(
      b.make<TokenLossOp>(getLogits(), getTargets(), getIgnoreIndexAttr()));
  if (!getIgnoreIndex())
    return {b.scale(sum, 1.0 / computeProduct(getShape(getTargets())))};
  Value count =
      b.make<CountOp>(sum.getType(), getTargets(), getIgnoreIndexAttr());
  return {b.div(sum, count)};
}

PP_DECOMPOSE(MseOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value difference =
      b.sub(b.castToStatistics(getX()), b.castToStatistics(getY()));
  Value sum = b.sumAll(b.mul(difference, difference));
  return {b.scale(sum, 1.0 / computeProduct(getShape(getX())))};
}

/// Attention has a kernel of its own.
PP_DECOMPOSE(AttentionOp, Never) {
  (void)builder;
  return {getOut(), getLse()};
}

PP_DECOMPOSE(AttentionStepOp, Never) {
  (void)builder;
  return {getOut(), getKAfter(), getVAfter()};
}

PP_DECOMPOSE(AttentionGradOp, Never) {
  (void)builder;
  return {getDq(), getDk(), getDv()};
}
