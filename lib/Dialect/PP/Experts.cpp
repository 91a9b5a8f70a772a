//===- Experts.cpp - Tokens move to the buffers of experts and back -------===//

#include "IndexShapes.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Verifies rows [B, T, D], buffers [B, E, C, D] and experts [B, T, k].
static LogicalResult verifyMove(Operation *op, Value rows, Value buffers,
                                Value experts) {
  ArrayRef<int64_t> x = getShape(rows), y = getShape(buffers),
                    ids = getShape(experts);
  if (x.size() != 3 || y.size() != 4 || ids.size() != 3 || x[0] != y[0] ||
      x[2] != y[3] || x.take_front(2) != ids.take_front(2))
    return op->emitOpError("tokens of ")
           << rows.getType() << ", buffers of " << buffers.getType()
           << " and experts of " << experts.getType()
           << " do not fit: they are [B, T, D], [B, E, C, D] and [B, T, k]";
  if (getElementTypeOrSelf(rows) != getElementTypeOrSelf(buffers))
    return op->emitOpError("element types of ")
           << rows.getType() << " and " << buffers.getType()
           << " differ; pp.cast changes them";
  return success();
}

LogicalResult DispatchOp::verify() {
  return verifyMove(*this, getX(), getResult(), getExperts());
}

LogicalResult CombineOp::verify() {
  if (failed(verifyMove(*this, getResult(), getY(), getExperts())))
    return failure();
  if (getShape(getWeights()) != getShape(getExperts()))
    return emitOpError("weights of ")
           << getWeights().getType() << " are not one for each of the experts "
           << "of " << getExperts().getType();
  return success();
}

/// Batch rows and columns are independent.
static IterationSpace moveSpace(Value rows, ValueRange operands, Value result,
                                Value weights = Value()) {
  SpaceBuilder builder;
  unsigned batch = builder.addLoop(getShape(rows)[0], LoopKind::Parallel);
  unsigned columns = builder.addLoop(getShape(rows)[2], LoopKind::Parallel);
  auto loopsOf = [&](Value tensor) {
    SmallVector<unsigned> loops = {batch};
    ArrayRef<int64_t> shape = getShape(tensor);
    bool hasColumns =
        isa<FloatType>(getElementTypeOrSelf(tensor)) && tensor != weights;
    for (int64_t size : shape.drop_front().drop_back())
      loops.push_back(builder.addLoop(size, LoopKind::Replicate));
    loops.push_back(hasColumns
                        ? columns
                        : builder.addLoop(shape.back(), LoopKind::Replicate));
    return loops;
  };
  for (Value operand : operands)
    builder.addOperand(loopsOf(operand));
  builder.addResult(loopsOf(result));
  return builder.take();
}

IterationSpace DispatchOp::getIterationSpace() {
  return moveSpace(getX(), getOperands(), getResult());
}
IterationSpace CombineOp::getIterationSpace() {
  return moveSpace(getResult(), getOperands(), getResult(), getWeights());
}

namespace {
/// Where tokens are in the buffers of experts.
struct Places {
  Value rows;   ///< [B, T k, 1]: numbers of buffer rows, 0 of dropped tokens
  Value isKept; ///< [B, T k, 1]
};
} // namespace

/// Returns the place of each choice: its expert's first, plus how many choices
/// before it are of the same expert.
static Places findPlaces(TensorBuilder &b, Value experts, Value buffers) {
  ArrayRef<int64_t> ids = getShape(experts), shape = getShape(buffers);
  int64_t choices = ids[1] * ids[2], count = shape[1], capacity = shape[2];
  OpBuilder &builder = b.builder;
  Value flat = b.reshape(experts, {ids[0], choices});
  Value isOf = b.make<OneHotOp>(
      RankedTensorType::get({ids[0], choices, count}, builder.getI32Type()),
      flat);
  Value before =
      b.make<CumsumOp>(isOf.getType(), isOf, builder.getI64IntegerAttr(1),
                       UnitAttr(), builder.getUnitAttr());
  Value place = b.rowSum(b.mul(isOf, before));
  Value isKept =
      b.compare(ComparePredicate::Lt, place, b.scalar(place, capacity));
  Value expert = b.reshape(b.castLike(flat, place), getShape(place));
  Value row = b.add(b.mul(expert, b.scalar(expert, capacity)), place);
  return {b.select(isKept, row, b.scalar(row, 0)), isKept};
}

/// Returns a tensor [B, n, 1] as [B, n, D].
static Value repeatColumns(TensorBuilder &b, Value x, int64_t columns) {
  SmallVector<int64_t> shape(getShape(x));
  shape.back() = columns;
  return b.make<BroadcastOp>(
      RankedTensorType::get(shape, getElementTypeOrSelf(x)), x,
      ArrayRef<int64_t>({0, 1, 2}));
}

/// Each place gets one row; those that are dropped add zeros to the first.
PP_DECOMPOSE(DispatchOp, Model) {
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = getShape(getResult());
  int64_t batch = shape[0], rows = shape[1] * shape[2], columns = shape[3];
  int64_t tokens = getShape(getX())[1], k = getShape(getExperts())[2];
  Places places = findPlaces(b, getExperts(), getResult());
  Type type = getType().getElementType();
  Value repeated = b.make<BroadcastOp>(
      RankedTensorType::get({batch, tokens, k, columns}, type), getX(),
      ArrayRef<int64_t>({0, 1, 3}));
  Value moved = b.reshape(repeated, {batch, tokens * k, columns});
  Value kept = b.select(places.isKept, moved, b.scalar(moved, 0));
  auto buffers = RankedTensorType::get({batch, rows, columns}, type);
  Value zeros = b.make<ConstantOp>(buffers, 0.0);
  Value filled = b.make<ScatterAddOp>(
      buffers, zeros, repeatColumns(b, places.rows, columns), kept,
      builder.getI64IntegerAttr(1), builder.getUnitAttr());
  return {b.reshape(filled, shape)};
}

PP_DECOMPOSE(CombineOp, Model) {
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = getShape(getY()), ids = getShape(getExperts());
  int64_t batch = shape[0], rows = shape[1] * shape[2], columns = shape[3];
  Places places = findPlaces(b, getExperts(), getY());
  Value found =
      b.make<GatherOp>(b.reshape(getY(), {batch, rows, columns}),
                       repeatColumns(b, places.rows, columns),
                       builder.getI64IntegerAttr(1), builder.getUnitAttr());
  Value kept =
      b.castToStatistics(b.select(places.isKept, found, b.scalar(found, 0)));
  Value weights =
      b.castLike(b.reshape(getWeights(), {batch, ids[1] * ids[2], 1}), kept);
  Value weighted =
      b.reshape(b.mul(kept, weights), {batch, ids[1], ids[2], columns});
  Value sum = b.make<ReduceOp>(ReduceKind::Sum, weighted, ArrayRef<int64_t>(2),
                               /*keep_dims=*/false);
  return {b.castLike(sum, getResult())};
}
