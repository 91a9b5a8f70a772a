//===- DecompositionsRows.cpp - Composites over the last dimension --------===//
//
// Replaced when kernels are formed, on local shapes: only the dimensions before
// the row are partitioned. Statistics, sums and exponentials of bf16 rows are
// f32.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

namespace {
/// The exponentials of rows, shifted by the row's maximum so that none
/// overflows.
struct RowExp {
  Value shifted, exp, sum;
};
} // namespace

static RowExp expOfRows(TensorBuilder &b, Value x) {
  Value shifted = b.sub(x, b.rowMax(x));
  Value exp = b.exp(shifted);
  return {shifted, exp, b.rowSum(exp)};
}

PP_DECOMPOSE(SoftmaxOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  RowExp row = expOfRows(b, b.castToStatistics(getX()));
  return {b.castLike(b.mul(row.exp, b.reciprocal(row.sum)), getResult())};
}

/// dx = y (dy - sum(y dy)).
PP_DECOMPOSE(SoftmaxGradOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value y = b.castToStatistics(getY()), dy = b.castToStatistics(getDy());
  Value dot = b.rowSum(b.mul(y, dy));
  return {b.castLike(b.mul(y, b.sub(dy, dot)), getResult())};
}

PP_DECOMPOSE(LogSoftmaxOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  RowExp row = expOfRows(b, b.castToStatistics(getX()));
  return {b.castLike(b.sub(row.shifted, b.make<LogOp>(row.sum)), getResult())};
}

/// dx = dy - exp(y) sum(dy).
PP_DECOMPOSE(LogSoftmaxGradOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value y = b.castToStatistics(getY()), dy = b.castToStatistics(getDy());
  Value dx = b.sub(dy, b.mul(b.exp(y), b.rowSum(dy)));
  return {b.castLike(dx, getResult())};
}

//===----------------------------------------------------------------------===//
// Normalize
//===----------------------------------------------------------------------===//

namespace {
/// A row, its mean subtracted if requested, and 1 / its standard deviation. The
/// variance is that of the centered row (two passes): mean(x²) - mean(x)²
/// cancels.
struct RowStatistics {
  Value centered, rstd;
};
} // namespace

static RowStatistics statisticsOfRows(TensorBuilder &b, Value x, bool center,
                                      double eps) {
  if (center)
    x = b.sub(x, b.rowMean(x));
  Value variance = b.rowMean(b.mul(x, x));
  return {x, b.make<RsqrtOp>(b.add(variance, b.scalar(x, eps)))};
}

PP_DECOMPOSE(NormalizeOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  RowStatistics row = statisticsOfRows(b, b.castToStatistics(getX()),
                                       getCenter(), getEps().convertToDouble());
  return {b.castLike(b.mul(row.centered, row.rstd), getResult())};
}

/// With y the normalized row: dx = rstd (dy - mean(dy) - y mean(dy y)), where
/// mean(dy) comes from the centering alone.
PP_DECOMPOSE(NormalizeGradOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value dy = b.castToStatistics(getDy());
  RowStatistics row = statisticsOfRows(b, b.castToStatistics(getX()),
                                       getCenter(), getEps().convertToDouble());
  Value y = b.mul(row.centered, row.rstd);
  Value dx = b.sub(dy, b.mul(y, b.rowMean(b.mul(dy, y))));
  if (getCenter())
    dx = b.sub(dx, b.rowMean(dy));
  return {b.castLike(b.mul(dx, row.rstd), getResult())};
}

//===----------------------------------------------------------------------===//
// Losses over targets
//===----------------------------------------------------------------------===//

/// Returns whether each class is its row's target: [..., V] from targets [...,
/// 1].
static Value isTarget(TensorBuilder &b, Value targets, int64_t classes) {
  auto type = RankedTensorType::get({classes}, getElementTypeOrSelf(targets));
  Value iota = b.make<IotaOp>(type, /*key=*/Value(), /*dim=*/0,
                              /*tile=*/TileAttr());
  return b.compare(ComparePredicate::Eq, iota, targets);
}

/// Returns `value`, with 0 in the rows whose target is ignored.
static Value zeroIgnored(TensorBuilder &b, Value value, Value targets,
                         std::optional<int64_t> ignored) {
  if (!ignored)
    return value;
  Value isIgnored =
      b.compare(ComparePredicate::Eq, targets, b.scalar(targets, *ignored));
  return b.select(isIgnored, b.scalar(value, 0), value);
}

/// log(sum(exp(x - max))) - (x[target] - max).
PP_DECOMPOSE(TokenLossOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value logits = b.castToStatistics(getLogits());
  Value targets = b.addUnitDim(getTargets());
  RowExp row = expOfRows(b, logits);
  Value hit = isTarget(b, targets, getShape(logits).back());
  Value picked = b.rowSum(b.select(hit, row.shifted, b.scalar(logits, 0)));
  Value loss = b.sub(b.make<LogOp>(row.sum), picked);
  loss = zeroIgnored(b, loss, targets, getIgnoreIndex());
  return {b.castLike(b.reshape(loss, getShape(getTargets())), getResult())};
}

PP_DECOMPOSE(TokenLossGradOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value logits = b.castToStatistics(getLogits());
  Value targets = b.addUnitDim(getTargets());
  Value dloss = b.castLike(b.addUnitDim(getDloss()), logits);
  RowExp row = expOfRows(b, logits);
  Value softmax = b.mul(row.exp, b.reciprocal(row.sum));
  Value hit = isTarget(b, targets, getShape(logits).back());
  Value onehot = b.select(hit, b.scalar(logits, 1), b.scalar(logits, 0));
  Value grad = b.mul(b.sub(softmax, onehot), dloss);
  return {
      b.castLike(zeroIgnored(b, grad, targets, getIgnoreIndex()), getResult())};
}

/// The sign bit is flipped around the maximum, which is signed: 0, the code of
/// a valid id, is then less than all others.
PP_DECOMPOSE(CheckIdsOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value status = getStatus();
  auto integer = [&](int64_t value) {
    auto type = cast<RankedTensorType>(status.getType());
    return b.make<ConstantOp>(
        type, DenseElementsAttr::get(
                  type, builder.getIntegerAttr(type.getElementType(), value)));
  };
  Value ids = b.castLike(getIds(), status), zero = integer(0);
  Value isNegative = b.compare(ComparePredicate::Lt, ids, zero);
  Value isLarge = b.compare(ComparePredicate::Ge, ids, integer(getSize()));
  Value code = b.select(isNegative, ids, b.select(isLarge, ids, zero));
  if (std::optional<int64_t> ignored = getIgnoreIndex())
    code = b.select(b.compare(ComparePredicate::Eq, ids, integer(*ignored)),
                    zero, code);
  Value sign = integer(std::numeric_limits<int64_t>::min());
  auto dims = llvm::to_vector(
      llvm::seq<int64_t>(0, cast<RankedTensorType>(ids.getType()).getRank()));
  if (!dims.empty())
    code = b.add(b.make<ReduceOp>(ReduceKind::Max, b.add(code, sign), dims,
                                  /*keepDims=*/false),
                 sign);
  Value isGood = b.compare(ComparePredicate::Eq, status, zero);
  return {b.select(isGood, code, status)};
}

PP_DECOMPOSE(CountOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value ignored = b.scalar(getTargets(), getIgnoreIndex());
  Value isCounted = b.compare(ComparePredicate::Ne, getTargets(), ignored);
  return {b.sumAll(b.castLike(isCounted, getResult()))};
}
