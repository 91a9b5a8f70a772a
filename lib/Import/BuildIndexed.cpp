//===- BuildIndexed.cpp - Embeddings, gathers and indices -----------------===//
//
// A gather is made in the form that can be split over the batch, if there is
// one: few runs of constant indices become slices, indices into a table that
// has no batch an embedding, and all others a pp.gather.
//
//===----------------------------------------------------------------------===//

#include "BuildIndexed.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "EvaluateConstants.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <limits>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

//===----------------------------------------------------------------------===//
// Positions and elements
//===----------------------------------------------------------------------===//

Value pt2::positions(Emitter &emit, Dtype type, int64_t size,
                     int64_t trailing) {
  Shape shape(1 + trailing, 1);
  shape[0] = size;
  return emit.make<IotaOp>(emit.tensorType(type, shape), /*key=*/Value(),
                           /*dim=*/int64_t(0), /*tile=*/TileAttr());
}

Value pt2::firstExtreme(Emitter &emit, Value x, int64_t dim, bool isMin) {
  if (Emitter::typeOf(x) == Dtype::boolean)
    x = emit.toInteger(x);
  if (isFloat(Emitter::typeOf(x)))
    x = emit.make<DetachOp>(x);
  Shape shape(Emitter::shapeOf(x));
  shape[dim] = 1;
  Value index = isMin ? emit.make<ArgminOp>(x, uint64_t(dim))
                      : emit.make<ArgmaxOp>(x, uint64_t(dim));
  return emit.reshape(index, shape);
}

Value pt2::gatherAt(Emitter &emit, Value x, Value ids, int64_t dim,
                    bool isInRange) {
  Shape from(Emitter::shapeOf(x)), to(Emitter::shapeOf(ids));
  for (size_t each = 0; each < from.size(); ++each)
    if (int64_t(each) != dim)
      from[each] = to[each] = std::max(from[each], to[each]);
  return emit.make<GatherOp>(emit.broadcastTo(x, from),
                             emit.broadcastTo(ids, to), uint64_t(dim),
                             isInRange);
}

Value pt2::pickAt(Emitter &emit, Value x, Value index, int64_t dim,
                  bool keepDims, bool isInRange) {
  Value picked = gatherAt(emit, x, index, dim, isInRange);
  Shape shape(Emitter::shapeOf(picked));
  if (!keepDims)
    shape.erase(shape.begin() + dim);
  return emit.reshape(picked, shape);
}

Shape pt2::toLast(int64_t rank, ArrayRef<int64_t> dims) {
  Shape perm;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!is_contained(dims, dim))
      perm.push_back(dim);
  perm.append(dims.begin(), dims.end());
  return perm;
}

Shape pt2::fromLast(int64_t rank, int64_t dim) {
  return invertPermutationVector(toLast(rank, dim));
}

//===----------------------------------------------------------------------===//
// Gathers along one dimension
//===----------------------------------------------------------------------===//

/// More runs of consecutive indices than this are no slices: a slice's gradient
/// is as large as what it is of.
static constexpr size_t kMostRuns = 4;

namespace {
struct Run {
  int64_t begin, size;
};
} // namespace

/// Whether the value depends on an input of the model: it may have the batch.
static bool dependsOnInput(Value value) {
  SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op)
      return true;
    if (seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

static SmallVector<Run> findRuns(const HostTensor &index) {
  SmallVector<Run> runs;
  HostTensor::forEachIndex(index.getShape(), [&](ArrayRef<int64_t> at) {
    int64_t id = index.getInteger(at);
    if (!runs.empty() && runs.back().begin + runs.back().size == id)
      ++runs.back().size;
    else
      runs.push_back({id, 1});
  });
  return runs;
}

/// The shape of `x` with `inserted` in place of dimension `dim`.
static Shape replaceDim(Value x, int64_t dim, ArrayRef<int64_t> inserted) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  Shape result(shape.take_front(dim));
  llvm::append_range(result, inserted);
  llvm::append_range(result, shape.drop_front(dim + 1));
  return result;
}

/// x[…, index, …] by a slice per run of a constant index.
static Value gatherBySlices(Emitter &emit, Value x, int64_t dim,
                            const HostTensor &index, ArrayRef<Run> runs) {
  SmallVector<Value> pieces;
  for (Run run : runs)
    pieces.push_back(emit.sliceDim(x, dim, run.begin, run.size));
  return emit.reshape(emit.concat(pieces, dim),
                      replaceDim(x, dim, index.getShape()));
}

/// x[…, index, …] by an embedding: x is a table of floats with rows `dim`.
static Value gatherByEmbedding(Emitter &emit, Value x, int64_t dim, Value ids) {
  int64_t rank = Emitter::rankOf(x), added = Emitter::rankOf(ids);
  Shape perm = {dim};
  for (int64_t each = 0; each < rank; ++each)
    if (each != dim)
      perm.push_back(each);
  Value table = emit.transpose(x, perm);
  ArrayRef<int64_t> columns = Emitter::shapeOf(table).drop_front();
  Value rows = emit.make<EmbeddingOp>(
      emit.reshape(table, {Emitter::shapeOf(table)[0], countElements(columns)}),
      ids, /*key=*/Value(), /*tile=*/TileAttr());
  Shape shape(Emitter::shapeOf(ids));
  llvm::append_range(shape, columns);
  // The dimensions of the ids go to where `dim` was.
  Shape back;
  for (int64_t each = 0; each < dim; ++each)
    back.push_back(added + each);
  for (int64_t each = 0; each < added; ++each)
    back.push_back(each);
  for (int64_t each = dim; each < rank - 1; ++each)
    back.push_back(added + each);
  return emit.transpose(emit.reshape(rows, shape), back);
}

/// x[…, ids, …] by a gather. The first `shared` dimensions of ids are those of
/// x.
static Value gatherByIds(Emitter &emit, Value x, int64_t dim, Value ids,
                         int64_t shared, bool isInRange) {
  ArrayRef<int64_t> all = Emitter::shapeOf(ids), index = all.drop_front(shared);
  Shape flat(all.take_front(shared));
  flat.append(Emitter::rankOf(x) - shared, 1);
  flat[dim] = countElements(index);
  Shape shape = replaceDim(x, dim, index);
  return emit.reshape(
      gatherAt(emit, x, emit.reshape(ids, flat), dim, isInRange), shape);
}

Value pt2::gatherDim(Emitter &emit, Value x, int64_t dim, const Index &index) {
  bool isTable =
      isFloat(Emitter::typeOf(x)) && (dim == 0 || !dependsOnInput(x));
  Value ids = index.value, result;
  if (index.constant) {
    HostTensor distinct = index.constant->collapse();
    SmallVector<Run> runs = findRuns(distinct);
    if (runs.size() <= kMostRuns)
      result = gatherBySlices(emit, x, dim, distinct, runs);
    else
      ids = emit.constant(distinct);
  }
  if (!result)
    result = isTable ? gatherByEmbedding(emit, x, dim, ids)
                     : gatherByIds(emit, x, dim, ids, /*shared=*/0,
                                   index.constant.has_value());
  return emit.broadcastTo(result, replaceDim(x, dim, index.shape));
}

Index pt2::readIndex(OpCall &call, Emitter &emit, const Tensor &tensor,
                     int64_t size) {
  Index index{tensor.shape, std::nullopt, nullptr};
  if (tensor.type == Dtype::boolean || tensor.type == Dtype::u8) {
    call.fail(tensor.constant
                  ? "takes a constant boolean mask as an index, and the export "
                    "does not say how many elements it selects; use "
                    "mask.nonzero() as a buffer of indices"
                  : "takes a boolean mask as an index, and how many elements "
                    "it selects is known only in the run; use torch.where or "
                    "masked_fill");
    return index;
  }
  if (tensor.constant) {
    if (!fits(call, tensor.shape, tensor.shape))
      return index;
    HostTensor wrapped(Dtype::i64, tensor.shape);
    HostTensor::forEachIndex(tensor.shape, [&](ArrayRef<int64_t> at) {
      int64_t id = tensor.constant->getInteger(at);
      if (id < -size || id >= size)
        call.fail("has the index " + Twine(id) + " into a dimension of " +
                  Twine(size));
      wrapped.set(at, {0, id < 0 ? id + size : id});
    });
    index.constant = wrapped;
    return index;
  }
  Value ids = tensor.value;
  Dtype type = Emitter::typeOf(ids);
  Value isNegative =
      emit.compare(ComparePredicate::Lt, ids, emit.number(type, 0));
  index.value = emit.select(
      isNegative, emit.add(ids, emit.number(type, double(size))), ids);
  return index;
}

//===----------------------------------------------------------------------===//
// index.Tensor
//===----------------------------------------------------------------------===//

/// The index in the shape to which all are broadcast.
static void broadcastIndex(Emitter &emit, Index &index,
                           ArrayRef<int64_t> shape) {
  if (index.constant)
    index.constant = index.constant->broadcastTo(shape);
  else
    index.value = emit.broadcastTo(index.value, shape);
  index.shape = Shape(shape);
}

/// Makes of several indices, one per dimension of `sizes`, the index into all
/// these dimensions as one.
static Index flattenIndices(Emitter &emit, ArrayRef<Index> indices,
                            ArrayRef<int64_t> sizes) {
  if (indices.size() == 1)
    return indices.front();
  Index flat{indices.front().shape, std::nullopt, nullptr};
  if (llvm::all_of(indices, [](const Index &each) {
        return each.constant.has_value();
      })) {
    HostTensor sum(Dtype::i64, flat.shape);
    HostTensor::forEachIndex(flat.shape, [&](ArrayRef<int64_t> at) {
      int64_t id = 0;
      for (auto [index, size] : zip_equal(indices, sizes))
        id = id * size + index.constant->getInteger(at);
      sum.set(at, {0, id});
    });
    flat.constant = sum;
    return flat;
  }
  for (auto [index, size] : zip_equal(indices, sizes)) {
    Value ids = index.constant ? emit.constant(index.constant->collapse())
                               : emit.castTo(index.value, Dtype::i64);
    flat.value = flat.value
                     ? emit.add(emit.mul(flat.value,
                                         emit.number(Dtype::i64, double(size))),
                                ids)
                     : ids;
  }
  flat.value = emit.broadcastTo(flat.value, flat.shape);
  return flat;
}

/// Whether the index is 0, 1, … along its first dimension and nothing else, of
/// all rows: x[arange(batch), …].
static bool countsRows(const Index &index, int64_t rows) {
  if (!index.constant || index.shape.empty() || index.shape[0] != rows)
    return false;
  bool isIota = true;
  HostTensor::forEachIndex(index.shape, [&](ArrayRef<int64_t> at) {
    isIota &= index.constant->getInteger(at) == at[0];
  });
  return isIota;
}

/// x[index, …] with an index per dimension or none. Where all indexed
/// dimensions are adjacent, the indices' dimensions take their place, else they
/// come first.
static Results buildIndex(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self");
  std::vector<const Tensor *> tensors = call.optionalTensors("indices");
  Shape dims;
  SmallVector<Index> indices;
  Shape shape;
  for (auto [dim, tensor] : enumerate(tensors)) {
    if (!tensor || int64_t(dim) >= self.getRank())
      continue;
    dims.push_back(dim);
    indices.push_back(readIndex(call, emit, *tensor, self.shape[dim]));
    if (call.failed())
      return {};
    // Broadcast, aligned at the right.
    ArrayRef<int64_t> own = tensor->shape;
    if (own.size() > shape.size())
      shape.insert(shape.begin(), own.size() - shape.size(), 1);
    for (size_t i = 1; i <= own.size(); ++i) {
      int64_t size = own[own.size() - i], &known = shape[shape.size() - i];
      if (size != 1 && known != 1 && size != known)
        call.fail("has indices that do not broadcast together");
      if (size != 1)
        known = size;
    }
  }
  if (tensors.size() > self.shape.size())
    call.fail("has more indices than dimensions");
  if (call.failed())
    return {};
  Value x = emit.value(self);
  if (dims.empty())
    return {x};
  for (Index &index : indices)
    broadcastIndex(emit, index, shape);

  // Rows with an index each: the batch stays in front.
  int64_t first = dims.front();
  bool isAdjacent = dims.back() - first + 1 == int64_t(dims.size());
  bool isByRow = first == 0 && dims.size() > 1 &&
                 countsRows(indices.front(), self.shape[0]);
  if (isByRow) {
    dims.erase(dims.begin());
    indices.erase(indices.begin());
  }
  // The indexed dimensions become one, where the first of them was.
  Shape perm, sizes, merged;
  int64_t at = dims.front();
  for (int64_t dim = 0; dim < self.getRank(); ++dim) {
    if (dim == at)
      llvm::append_range(perm, dims);
    if (!llvm::is_contained(dims, dim))
      perm.push_back(dim);
  }
  for (int64_t dim : dims)
    sizes.push_back(self.shape[dim]);
  if (isByRow && at > 1) {
    // x[arange, :, ids]: the dimensions between follow the indexed one.
    perm.assign(1, 0);
    llvm::append_range(perm, dims);
    for (int64_t dim = 1; dim < self.getRank(); ++dim)
      if (!llvm::is_contained(dims, dim))
        perm.push_back(dim);
    at = 1;
  }
  x = emit.transpose(x, perm);
  merged.append(Emitter::shapeOf(x).begin(), Emitter::shapeOf(x).begin() + at);
  merged.push_back(countElements(sizes));
  llvm::append_range(merged, Emitter::shapeOf(x).drop_front(at + dims.size()));
  x = emit.reshape(x, merged);
  Index index = flattenIndices(emit, indices, sizes);

  if (isByRow) {
    Value ids = index.constant ? emit.constant(*index.constant) : index.value;
    return {gatherByIds(emit, x, at, ids, /*shared=*/1,
                        index.constant.has_value())};
  }
  Value result = gatherDim(emit, x, at, index);
  if (isAdjacent || at == 0)
    return {result};
  Shape front;
  for (size_t i = 0; i < shape.size(); ++i)
    front.push_back(at + i);
  for (int64_t dim = 0; dim < Emitter::rankOf(result); ++dim)
    if (dim < at || dim >= at + int64_t(shape.size()))
      front.push_back(dim);
  return {emit.transpose(result, front)};
}

static Results buildIndexSelect(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self");
  int64_t dim = call.dim("dim", self.getRank());
  if (self.getRank() == 0)
    call.fail("selects from a tensor without dimensions");
  if (call.failed())
    return {};
  Index index = readIndex(call, emit, call.tensor("index"), self.shape[dim]);
  if (call.failed())
    return {};
  Value result = gatherDim(emit, emit.value(self), dim, index);
  return {emit.reshape(result, call.result().shape)};
}

/// Windows along a dimension, whose elements come last.
static Results buildUnfold(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self");
  int64_t dim = call.dim("dimension", self.getRank()),
          window = call.integer("size"), step = call.integer("step");
  if (self.getRank() == 0 || window < 1 || step < 1 || window > self.shape[dim])
    call.fail("makes windows of " + Twine(window) + " elements, " +
              Twine(step) + " apart, along a dimension without as many");
  if (call.failed())
    return {};
  int64_t count = (self.shape[dim] - window) / step + 1;
  if (!fits(call, {count, window}, {count, window}))
    return {};
  HostTensor at(Dtype::i64, {count, window});
  HostTensor::forEachIndex(at.getShape(), [&](ArrayRef<int64_t> index) {
    at.set(index, {0, index[0] * step + index[1]});
  });
  Value windows = gatherDim(emit, emit.value(self), dim,
                            {Shape(at.getShape()), at, nullptr});
  return {emit.transpose(windows, toLast(Emitter::rankOf(windows), dim + 1))};
}

//===----------------------------------------------------------------------===//
// gather, take_along_dim, one_hot
//===----------------------------------------------------------------------===//

/// result[i, j, …] = x[i, index[i, j, …], …] along `dim`. Other dimensions of x
/// are those of the index, or larger.
static Value gatherEach(Emitter &emit, Value x, int64_t dim,
                        const Index &index) {
  Shape offsets(Emitter::rankOf(x), 0), sizes = index.shape;
  sizes[dim] = Emitter::shapeOf(x)[dim];
  x = emit.slice(x, offsets, sizes);
  if (index.constant) {
    HostTensor distinct = index.constant->collapse();
    if (distinct.getElements() == distinct.getShape()[dim]) {
      // The same indices everywhere, repeated if `dim` collapsed.
      Index same{{distinct.getElements()},
                 distinct.reshape({distinct.getElements()}),
                 nullptr};
      return emit.broadcastTo(gatherDim(emit, x, dim, same), index.shape);
    }
  }
  Value ids = index.constant ? emit.constant(*index.constant) : index.value;
  return gatherAt(emit, x, ids, dim, index.constant.has_value());
}

Index pt2::readGatherIndex(OpCall &call, Emitter &emit, const Tensor &tensor,
                           int64_t size) {
  if (tensor.constant || tensor.type == Dtype::boolean)
    return readIndex(call, emit, tensor, size);
  return {tensor.shape, std::nullopt, tensor.value};
}

static Results buildGather(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &ids = call.tensor("index");
  int64_t rank = self.getRank(), dim = call.dim("dim", rank);
  call.flag("sparse_grad", false); // how PyTorch stores the same gradient
  if (rank != ids.getRank() || rank == 0)
    call.fail("has an index of " + Twine(ids.getRank()) +
              " dimensions into a tensor of " + Twine(rank));
  if (call.failed())
    return {};
  Index index = readGatherIndex(call, emit, ids, self.shape[dim]);
  if (call.failed())
    return {};
  return {gatherEach(emit, emit.value(self), dim, index)};
}

static Results buildTakeAlongDim(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &ids = call.tensor("indices");
  bool isFlat = !call.has("dim");
  int64_t rank = isFlat ? 1 : self.getRank();
  int64_t dim = isFlat ? 0 : call.dim("dim", rank);
  if (!isFlat && (rank != ids.getRank() || rank == 0))
    call.fail("has indices of " + Twine(ids.getRank()) +
              " dimensions into a tensor of " + Twine(rank));
  if (call.failed())
    return {};
  Value x = emit.value(self);
  if (isFlat)
    x = emit.reshape(x, {countElements(self.shape)});
  Index index = readGatherIndex(call, emit, ids, Emitter::shapeOf(x)[dim]);
  if (call.failed())
    return {};
  if (isFlat)
    return {gatherDim(emit, x, 0, index)};
  // Other dimensions are broadcast.
  Shape from(Emitter::shapeOf(x)), to = index.shape;
  for (int64_t each = 0; each < rank; ++each)
    if (each != dim)
      from[each] = to[each] = std::max(from[each], to[each]);
  broadcastIndex(emit, index, to);
  return {gatherEach(emit, emit.broadcastTo(x, from), dim, index)};
}

static Results buildOneHot(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self");
  call.integer("num_classes", -1); // the shape of the result has it
  Shape shape = call.result().shape;
  if (shape.empty())
    call.fail("has a result without dimensions");
  if (call.failed())
    return {};
  return {emit.make<OneHotOp>(emit.tensorType(call.result().type, shape),
                              emit.value(self))};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

ArrayRef<OpRow> pt2::indexRows() {
  static const OpRow rows[] = {
      {"aten.index.Tensor", &buildIndex,
       "boolean masks, except as rows of which sums, "
       "means and losses are taken"},
      {"aten.index_select.default", &buildIndexSelect},
      {"aten.unfold.default", &buildUnfold},
      {"aten.gather.default", &buildGather},
      {"aten.take_along_dim.default", &buildTakeAlongDim},
      {"aten.one_hot.default", &buildOneHot},
  };
  return rows;
}
