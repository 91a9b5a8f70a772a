//===- GradientsMatmuls.cpp - Adjoints of reductions and composites -------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

PP_ADJOINT(ReduceOp) {
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = getShape(getX());
  SmallVector<int64_t> kept, keptShape(shape);
  int64_t count = 1;
  for (int64_t dim : getDims()) {
    count *= shape[dim];
    keptShape[dim] = 1;
  }
  for (int64_t dim : llvm::seq<int64_t>(0, shape.size()))
    if (getKeepDims() || !llvm::is_contained(getDims(), dim))
      kept.push_back(dim);

  Value dy = resultGrads[0];
  if (getKind() == ReduceKind::Mean)
    dy = b.scale(dy, 1.0 / count);
  if (getKind() != ReduceKind::Max) {
    operandGrads[0] = b.make<BroadcastOp>(getX().getType(), dy, kept);
    return success();
  }
  // Elements that equal the maximum share its gradient equally. The comparison
  // is placed at the maximum: a recomputed operand may be rounded differently.
  OpBuilder atMaximum(getOperation());
  atMaximum.setInsertionPointAfter(getOperation());
  TensorBuilder forward(atMaximum, getLoc());
  Value isMax = forward.compare(ComparePredicate::Eq, getX(),
                                forward.reshape(getResult(), keptShape));
  Value sharers =
      b.make<ReduceOp>(ReduceKind::Sum, b.castLike(isMax, dy), getDims(),
                       /*keep_dims=*/true);
  Value share = b.div(b.reshape(dy, keptShape), sharers);
  operandGrads[0] = b.select(isMax, share, b.scalar(dy, 0));
  return success();
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// Returns `x` with all dimensions but the last merged.
static Value flattenRows(TensorBuilder &b, Value x) {
  ArrayRef<int64_t> shape = getShape(x);
  return b.reshape(x, {computeProduct(shape.drop_back()), shape.back()});
}

/// With C = A·B, dA = dC·Bᵀ and dB = Aᵀ·dC, where A and B are the operands
/// after their transpose flags. If an operand is transposed, both sides are.
static Value getRhsGradient(TensorBuilder &b, MatmulOp op, Value dy) {
  Value lhs = op.getLhs();
  // All batches share one rhs: their rows are rows of one matmul.
  if (getShape(op.getRhs()).size() == 2 && getShape(lhs).size() > 2) {
    lhs = flattenRows(b, lhs);
    dy = flattenRows(b, dy);
  }
  return op.getTransposeRhs()
             ? b.make<MatmulOp>(dy, lhs, true, op.getTransposeLhs())
             : b.make<MatmulOp>(lhs, dy, !op.getTransposeLhs(), false);
}

/// The gradient of a weight comes first: an activation recomputed for it dies
/// before the equally large gradient of lhs needs memory.
PP_ADJOINT(MatmulOp) {
  TensorBuilder b(builder, getLoc());
  Value rhs = getRhs(), dy = resultGrads[0];
  bool rhsFlag = getTransposeRhs(), isWeight = getShape(rhs).size() == 2;
  if (needed[1] && isWeight)
    operandGrads[1] = getRhsGradient(b, *this, dy);
  if (needed[0])
    operandGrads[0] = getTransposeLhs()
                          ? b.make<MatmulOp>(rhs, dy, rhsFlag, true)
                          : b.make<MatmulOp>(dy, rhs, false, !rhsFlag);
  if (needed[1] && !isWeight)
    operandGrads[1] = getRhsGradient(b, *this, dy);
  return success();
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

#define PP_ROW_ADJOINT(OpT, GradOpT)                                           \
  PP_ADJOINT(OpT) {                                                            \
    operandGrads[0] =                                                          \
        GradOpT::create(builder, getLoc(), getResult(), resultGrads[0]);       \
    return success();                                                          \
  }
PP_ROW_ADJOINT(SoftmaxOp, SoftmaxGradOp)
PP_ROW_ADJOINT(LogSoftmaxOp, LogSoftmaxGradOp)

PP_ADJOINT(NormalizeOp) {
  operandGrads[0] = NormalizeGradOp::create(
      builder, getLoc(), getX(), resultGrads[0], getCenterAttr(), getEpsAttr());
  return success();
}

PP_ADJOINT(EmbeddingOp) {
  if (needed[0])
    operandGrads[0] = EmbeddingGradOp::create(
        builder, getLoc(), getTable().getType(), getIds(), resultGrads[0],
        getKey(), getTileAttr());
  return success();
}

PP_ADJOINT(TokenLossOp) {
  if (needed[0])
    operandGrads[0] =
        TokenLossGradOp::create(builder, getLoc(), getLogits(), getTargets(),
                                resultGrads[0], getIgnoreIndexAttr());
  return success();
}
