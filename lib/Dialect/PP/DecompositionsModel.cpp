//===- DecompositionsModel.cpp - Composites without a gradient ------------===//
//
// Replaced in phase model. What they are made of has a gradient. Means stay
// until pp-extend-evaluation, while shapes are global: a mean divides by the
// count of the global batch.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether the elements of a mean have the type that it is computed in.
static bool isOfStatistics(ReduceOp op) {
  Type type = getElementTypeOrSelf(op.getX());
  return type == getStatisticsType(type);
}

DecomposeAt ReduceOp::getDecomposeAt() {
  if (getKind() == ReduceKind::Sum || getKind() == ReduceKind::Max)
    return DecomposeAt::Never;
  if (getKind() != ReduceKind::Mean)
    return DecomposeAt::Model;
  return isOfStatistics(*this) ? DecomposeAt::Train : DecomposeAt::Model;
}

/// Returns what is largest where x is smallest. The negative of an integer may
/// not exist, unlike -1 - x.
static Value reverseOrder(TensorBuilder &b, Value x) {
  return isa<FloatType>(getElementTypeOrSelf(x)) ? b.make<NegOp>(x)
                                                 : b.sub(b.scalar(x, -1), x);
}

/// Returns a minimum, any or all, as a maximum.
static Value reduceByMaximum(TensorBuilder &b, ReduceOp op) {
  Value x = op.getX();
  bool isBool = getElementTypeOrSelf(x).isInteger(1);
  if (isBool)
    x = b.cast(x, b.builder.getI32Type());
  bool isReversed = op.getKind() != ReduceKind::Any;
  if (isReversed)
    x = reverseOrder(b, x);
  Value result =
      b.make<ReduceOp>(ReduceKind::Max, x, op.getDims(), op.getKeepDims());
  if (isReversed)
    result = reverseOrder(b, result);
  return isBool ? b.compare(ComparePredicate::Ne, result, b.scalar(result, 0))
                : result;
}

/// A mean in the type of statistics; there, a sum times a constant, one over
/// the count.
SmallVector<Value> ReduceOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  if (getKind() != ReduceKind::Mean)
    return {reduceByMaximum(b, *this)};
  if (!isOfStatistics(*this))
    return {b.castLike(b.make<ReduceOp>(ReduceKind::Mean,
                                        b.castToStatistics(getX()), getDims(),
                                        getKeepDims()),
                       getResult())};
  double count = 1;
  for (int64_t dim : getDims())
    count *= getShape(getX())[dim];
  Value sum =
      b.make<ReduceOp>(ReduceKind::Sum, getX(), getDims(), getKeepDims());
  return {b.scale(sum, 1 / count)};
}

/// The first index is the one farthest from the end: a maximum of distances,
/// which reductions and reshards know. A maximum is NaN if an element is, and
/// then equal to none.
static Value findLargest(TensorBuilder &b, Value x, int64_t dim) {
  OpBuilder &builder = b.builder;
  ArrayRef<int64_t> shape = getShape(x);
  SmallVector<int64_t> along(shape.size(), 1);
  along[dim] = shape[dim];
  auto type = RankedTensorType::get(along, builder.getI64Type());
  Value index = b.make<IotaOp>(type, /*key=*/Value(),
                               builder.getI64IntegerAttr(dim), TileAttr());
  Value distance = b.sub(b.scalar(index, shape[dim]), index);
  Value none = b.scalar(index, 0);
  Value largest = b.make<ReduceOp>(ReduceKind::Max, x, ArrayRef<int64_t>(dim),
                                   /*keep_dims=*/true);
  Value found =
      b.select(b.compare(ComparePredicate::Eq, x, largest), distance, none);
  if (isa<FloatType>(getElementTypeOrSelf(x)))
    found = b.select(b.compare(ComparePredicate::Ne, x, x), distance, found);
  Value farthest =
      b.make<ReduceOp>(ReduceKind::Max, found, ArrayRef<int64_t>(dim),
                       /*keep_dims=*/false);
  return b.sub(b.scalar(farthest, shape[dim]), farthest);
}

PP_DECOMPOSE(ArgmaxOp, Model) {
  TensorBuilder b(builder, getLoc());
  return {findLargest(b, getX(), getDim())};
}

PP_DECOMPOSE(ArgminOp, Model) {
  TensorBuilder b(builder, getLoc());
  return {findLargest(b, reverseOrder(b, getX()), getDim())};
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

/// Moves a share of each target to all classes, in equal parts.
static Value smoothLosses(TensorBuilder &b, CrossEntropyOp op, Value losses,
                          double smoothing) {
  Value logs = b.make<LogSoftmaxOp>(b.castLike(op.getLogits(), losses));
  ArrayRef<int64_t> shape = getShape(logs);
  Value sums = b.make<ReduceOp>(ReduceKind::Sum, logs,
                                ArrayRef<int64_t>(shape.size() - 1),
                                /*keep_dims=*/false);
  if (std::optional<int64_t> ignored = op.getIgnoreIndex())
    sums = b.select(b.compare(ComparePredicate::Eq, op.getTargets(),
                              b.scalar(op.getTargets(), *ignored)),
                    b.scalar(sums, 0), sums);
  return b.sub(b.scale(losses, 1 - smoothing),
               b.scale(sums, smoothing / shape.back()));
}

PP_DECOMPOSE(CrossEntropyOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value losses =
      b.make<TokenLossOp>(getLogits(), getTargets(), getIgnoreIndexAttr());
  if (auto smoothing = getLabelSmoothing(); smoothing && smoothing->isNonZero())
    losses = smoothLosses(b, *this, losses, smoothing->convertToDouble());
  if (!getIgnoreIndex())
    return {b.meanAll(losses)};
  Value sum = b.sumAll(losses);
  Value count =
      b.make<CountOp>(sum.getType(), getTargets(), getIgnoreIndexAttr());
  return {b.div(sum, count)};
}

PP_DECOMPOSE(MseOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value difference =
      b.sub(b.castToStatistics(getX()), b.castToStatistics(getY()));
  return {b.meanAll(b.mul(difference, difference))};
}

PP_DECOMPOSE(BceWithLogitsOp, Model) {
  TensorBuilder b(builder, getLoc());
  Value x = b.castToStatistics(getLogits());
  Value t = b.castToStatistics(getTargets());
  Value soft = b.make<SoftplusOp>(b.make<NegOp>(x));
  return {b.meanAll(b.add(b.mul(b.sub(b.scalar(t, 1), t), x), soft))};
}
