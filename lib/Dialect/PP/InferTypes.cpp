//===- InferTypes.cpp - Result types of model ops -------------------------===//

#include "InferTypes.h"

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

template <typename OpT>
static LogicalResult requireSameElements(std::optional<Location> loc,
                                         RankedTensorType lhs,
                                         RankedTensorType rhs) {
  if (lhs.getElementType() == rhs.getElementType())
    return success();
  return inferError<OpT>(loc, "operands of ", lhs, " and ", rhs,
                         " differ in their element types; pp.cast one");
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Returns the broadcast shape of operands of types `types`.
template <typename OpT>
static FailureOr<SmallVector<int64_t>>
inferBroadcast(std::optional<Location> loc, ArrayRef<RankedTensorType> types) {
  SmallVector<int64_t> shape(types[0].getShape());
  for (RankedTensorType type : types.drop_front()) {
    auto joined = broadcastShapes(shape, type.getShape());
    if (!joined)
      return LogicalResult(inferError<OpT>(
          loc, "operands of ", types[0], " and ", type,
          " do not broadcast: aligned at the right, sizes are equal or 1"));
    shape = *joined;
  }
  return shape;
}

template <typename OpT>
static LogicalResult inferBinary(std::optional<Location> loc,
                                 ValueRange operands, Type element,
                                 SmallVectorImpl<Type> &results) {
  auto types = getTensors<OpT>(loc, operands);
  if (failed(types) ||
      failed(requireSameElements<OpT>(loc, (*types)[0], (*types)[1])))
    return failure();
  auto shape = inferBroadcast<OpT>(loc, *types);
  if (failed(shape))
    return failure();
  results.push_back(RankedTensorType::get(
      *shape, element ? element : (*types)[0].getElementType()));
  return success();
}

#define PP_INFER_BINARY(OpT)                                                   \
  PP_INFER(OpT) { return inferBinary<OpT>(loc, operands, Type(), results); }
PP_INFER_BINARY(AddOp)
PP_INFER_BINARY(SubOp)
PP_INFER_BINARY(MulOp)
PP_INFER_BINARY(DivOp)
PP_INFER_BINARY(MaximumOp)
PP_INFER_BINARY(MinimumOp)
PP_INFER_BINARY(PowerOp)
#undef PP_INFER_BINARY

PP_INFER(CompareOp) {
  return inferBinary<CompareOp>(loc, operands, IntegerType::get(context, 1),
                                results);
}

PP_INFER(SelectOp) {
  auto types = getTensors<SelectOp>(loc, operands);
  if (failed(types))
    return failure();
  auto shape = inferBroadcast<SelectOp>(loc, *types);
  if (failed(shape))
    return failure();
  results.push_back(
      RankedTensorType::get(*shape, (*types)[1].getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

PP_INFER(TransposeOp) {
  auto types = getTensors<TransposeOp>(loc, operands);
  auto perm = collectProperties<TransposeOp>(properties, attributes).perm;
  if (failed(types) || !perm)
    return failure();
  RankedTensorType type = types->front();
  SmallVector<int64_t> shape;
  SmallVector<bool> seen(type.getRank());
  for (int64_t dim : perm.asArrayRef())
    if (dim >= 0 && dim < type.getRank() && !seen[dim]) {
      seen[dim] = true;
      shape.push_back(type.getDimSize(dim));
    }
  if (shape.size() != seen.size() || shape.size() != unsigned(perm.size()))
    return inferError<TransposeOp>(loc, "permutation ", perm,
                                   " does not name each dimension of ", type,
                                   " once");
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

PP_INFER(ConcatOp) {
  auto types = getTensors<ConcatOp>(loc, operands);
  if (failed(types))
    return failure();
  auto dim = collectProperties<ConcatOp>(properties, attributes).dim;
  if (!dim)
    return inferError<ConcatOp>(loc, "requires attribute 'dim'");
  if (types->empty())
    return inferError<ConcatOp>(loc, "needs at least one operand");
  RankedTensorType first = types->front();
  int64_t along = dim.getInt();
  if (along < 0 || along >= first.getRank())
    return inferError<ConcatOp>(loc, "dim ", along, " is not a dimension of ",
                                first);
  SmallVector<int64_t> shape(first.getShape());
  for (RankedTensorType type : ArrayRef(*types).drop_front()) {
    if (failed(requireSameElements<ConcatOp>(loc, first, type)))
      return failure();
    bool fits = type.getRank() == first.getRank();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = i == along || type.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return inferError<ConcatOp>(loc, "operands of ", first, " and ", type,
                                  " differ in more than dimension ", along);
    if (llvm::AddOverflow(shape[along], type.getDimSize(along), shape[along]))
      return inferError<ConcatOp>(loc, "is too large along dimension ", along);
  }
  results.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and matmuls
//===----------------------------------------------------------------------===//

PP_INFER(ReduceOp) {
  auto types = getTensors<ReduceOp>(loc, operands);
  auto dims = collectProperties<ReduceOp>(properties, attributes).dims;
  if (failed(types) || !dims)
    return failure();
  RankedTensorType type = types->front();
  bool keepDims =
      collectProperties<ReduceOp>(properties, attributes).keep_dims != nullptr;
  SmallVector<bool> reduced(type.getRank());
  int64_t last = -1;
  for (int64_t dim : dims.asArrayRef()) {
    if (dim <= last || dim >= type.getRank())
      return inferError<ReduceOp>(loc, "dims ", dims,
                                  " are not increasing dimensions of ", type);
    reduced[last = dim] = true;
  }
  SmallVector<int64_t> shape;
  for (auto [size, isReduced] : llvm::zip(type.getShape(), reduced))
    if (!isReduced || keepDims)
      shape.push_back(isReduced ? 1 : size);
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

/// An i64 for each element of the other dimensions.
template <typename OpT>
static LogicalResult inferIndexOf(std::optional<Location> loc,
                                  ValueRange operands, IntegerAttr dim,
                                  SmallVectorImpl<Type> &results) {
  auto types = getTensors<OpT>(loc, operands);
  if (failed(types) || !dim)
    return failure();
  RankedTensorType type = types->front();
  int64_t at = dim.getInt();
  if (at < 0 || at >= type.getRank())
    return inferError<OpT>(loc, "dim ", at, " is no dimension of ", type);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + at);
  results.push_back(
      RankedTensorType::get(shape, IntegerType::get(type.getContext(), 64)));
  return success();
}

#define PP_INFER_INDEX_OF(OpT)                                                 \
  PP_INFER(OpT) {                                                              \
    return inferIndexOf<OpT>(                                                  \
        loc, operands, collectProperties<OpT>(properties, attributes).dim,     \
        results);                                                              \
  }
PP_INFER_INDEX_OF(ArgmaxOp)
PP_INFER_INDEX_OF(ArgminOp)
#undef PP_INFER_INDEX_OF

PP_INFER(MatmulOp) {
  auto types = getTensors<MatmulOp>(loc, operands);
  if (failed(types) ||
      failed(requireSameElements<MatmulOp>(loc, (*types)[0], (*types)[1])))
    return failure();
  RankedTensorType lhs = (*types)[0], rhs = (*types)[1];
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return inferError<MatmulOp>(loc, "operands of ", lhs, " and ", rhs,
                                " need two dimensions each");
  ArrayRef<int64_t> lhsBatch = lhs.getShape().drop_back(2);
  ArrayRef<int64_t> rhsBatch = rhs.getShape().drop_back(2);
  ArrayRef<int64_t> left = lhs.getShape().take_back(2);
  ArrayRef<int64_t> right = rhs.getShape().take_back(2);
  auto flags = collectProperties<MatmulOp>(properties, attributes);
  bool transposeLhs = flags.transpose_lhs != nullptr;
  bool transposeRhs = flags.transpose_rhs != nullptr;
  if (!rhsBatch.empty() || transposeLhs) {
    if (lhsBatch != rhsBatch)
      return inferError<MatmulOp>(
          loc, "batch dimensions of ", lhs, " and ", rhs, " differ",
          transposeLhs ? "; a transposed lhs has those of rhs"
                       : "; pp.broadcast the smaller");
    if (lhsBatch.size() > 2)
      return inferError<MatmulOp>(loc, "has more than two batch dimensions in ",
                                  lhs, " and ", rhs, "; pp.reshape them");
  }
  if (left[!transposeLhs] != right[transposeRhs])
    return inferError<MatmulOp>(loc, "sums over dimensions of size ",
                                left[!transposeLhs], " in ", lhs, " and ",
                                right[transposeRhs], " in ", rhs);
  SmallVector<int64_t> shape(lhsBatch);
  shape.append({left[transposeLhs], right[!transposeRhs]});
  results.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Composites and losses
//===----------------------------------------------------------------------===//

PP_INFER(EmbeddingOp) {
  auto types = getTensors<EmbeddingOp>(loc, operands);
  if (failed(types))
    return failure();
  RankedTensorType table = (*types)[0];
  if (table.getRank() != 2)
    return inferError<EmbeddingOp>(loc, "table of ", table,
                                   " is not of two dimensions [rows, columns]");
  SmallVector<int64_t> shape((*types)[1].getShape());
  shape.push_back(table.getDimSize(1));
  results.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

/// Returns the shape of logits [..., V] without V. Emits an error if the
/// targets have another shape.
template <typename OpT>
static FailureOr<ArrayRef<int64_t>> inferRows(std::optional<Location> loc,
                                              RankedTensorType logits,
                                              RankedTensorType targets) {
  if (logits.getRank() >= 1 &&
      logits.getShape().drop_back() == targets.getShape())
    return logits.getShape().drop_back();
  return LogicalResult(inferError<OpT>(loc, "targets of ", targets,
                                       " do not fit logits of ", logits,
                                       ": one target for each row of logits"));
}

PP_INFER(TokenLossOp) {
  auto types = getTensors<TokenLossOp>(loc, operands);
  if (failed(types))
    return failure();
  auto rows = inferRows<TokenLossOp>(loc, (*types)[0], (*types)[1]);
  if (failed(rows))
    return failure();
  results.push_back(RankedTensorType::get(
      *rows, getStatisticsType((*types)[0].getElementType())));
  return success();
}

PP_INFER(CrossEntropyOp) {
  auto types = getTensors<CrossEntropyOp>(loc, operands);
  if (failed(types) ||
      failed(inferRows<CrossEntropyOp>(loc, (*types)[0], (*types)[1])))
    return failure();
  results.push_back(RankedTensorType::get(
      {}, getStatisticsType((*types)[0].getElementType())));
  return success();
}

/// The mean over all elements of operands of one type.
#define PP_INFER_MEAN(OpT)                                                     \
  PP_INFER(OpT) {                                                              \
    auto types = getTensors<OpT>(loc, operands);                               \
    if (failed(types))                                                         \
      return failure();                                                        \
    results.push_back(RankedTensorType::get(                                   \
        {}, getStatisticsType(types->front().getElementType())));              \
    return success();                                                          \
  }
PP_INFER_MEAN(MseOp)
PP_INFER_MEAN(BceWithLogitsOp)
