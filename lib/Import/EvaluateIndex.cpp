//===- EvaluateIndex.cpp - Elements that tensors of indices select --------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Wraps a negative index. What is out of range is an error of the call, and 0.
static int64_t wrapIndex(OpCall &call, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    call.fail("reads the index " + Twine(index) + " of " + Twine(size));
    return 0;
  }
  return index < 0 ? index + size : index;
}

static void checkIndexType(OpCall &call, const HostTensor &index) {
  if (index.getType() == Dtype::boolean || index.getType() == Dtype::u8)
    call.fail("indexes by a boolean mask, whose result has a size that is not "
              "known before: use torch.where");
  else if (index.isFloat())
    call.fail("indexes by a " + spell(index.getType()));
}

//===----------------------------------------------------------------------===//
// Indices of several dimensions
//===----------------------------------------------------------------------===//

namespace {

/// Where each element of self[i, :, j] comes from: i and j are broadcast
/// together, and their dimensions stand where theirs were if these are
/// neighbours, and first otherwise.
class Indexing {
public:
  using Indices = ArrayRef<std::optional<HostTensor>>;
  Indexing(OpCall &call, const HostTensor &self, Indices list);

  const Shape &getShape() const { return shape; }
  const DimBits &getSame() const { return same; }
  /// The index in `self` of an element of the result.
  ArrayRef<int64_t> locate(ArrayRef<int64_t> index);

private:
  OpCall &call;
  Shape sizes; ///< of `self`
  Shape shape; ///< of the result
  DimBits same;
  SmallVector<HostTensor> indices;
  Shape indexedDims, otherDims;
  int64_t first = 0, broadcastRank = 0; ///< where indices' dimensions stand
  Shape located;
};

Indexing::Indexing(OpCall &call, const HostTensor &self, Indices list)
    : call(call), sizes(self.getShape()), located(self.getRank(), 0) {
  if (int64_t(list.size()) > self.getRank()) {
    call.fail("has " + Twine(list.size()) + " indices of a tensor of " +
              Twine(self.getRank()) + " dimensions");
    return;
  }
  SmallVector<Shape> shapes;
  for (int64_t dim = 0; dim < self.getRank(); ++dim) {
    if (dim >= int64_t(list.size()) || !list[dim]) {
      otherDims.push_back(dim);
      continue;
    }
    checkIndexType(call, *list[dim]);
    indexedDims.push_back(dim);
    indices.push_back(*list[dim]);
    shapes.push_back(Shape(list[dim]->getShape()));
  }
  Shape together = broadcastShape(call, shapes);
  if (call.failed() || !fits(call, together, {}))
    return;
  DimBits sameIndex(together.size(), true);
  for (HostTensor &index : indices) {
    index = index.broadcastTo(together);
    for (auto [bit, stride] : zip_equal(sameIndex, index.getStrides()))
      bit &= stride == 0;
  }
  broadcastRank = together.size();
  bool areNeighbours =
      !indexedDims.empty() && indexedDims.back() - indexedDims.front() + 1 ==
                                  int64_t(indexedDims.size());
  first = areNeighbours ? indexedDims.front() : 0;
  for (int64_t dim : otherDims) {
    shape.push_back(self.getShape()[dim]);
    same.push_back(self.getStrides()[dim] == 0);
  }
  shape.insert(shape.begin() + first, together.begin(), together.end());
  same.insert(same.begin() + first, sameIndex.begin(), sameIndex.end());
}

ArrayRef<int64_t> Indexing::locate(ArrayRef<int64_t> index) {
  ArrayRef<int64_t> inner = index.slice(first, broadcastRank);
  for (auto [dim, tensor] : zip_equal(indexedDims, indices))
    located[dim] = wrapIndex(call, tensor.getInteger(inner), sizes[dim]);
  for (auto [number, dim] : enumerate(otherDims))
    located[dim] =
        index[int64_t(number) < first ? number : number + broadcastRank];
  return located;
}

} // namespace

static Results indexBy(OpCall &call, const HostTensor &self,
                       Indexing::Indices list) {
  Indexing indexing(call, self, list);
  if (call.failed())
    return {};
  return generate(call, self.getType(), indexing.getShape(), indexing.getSame(),
                  [&](ArrayRef<int64_t> index) -> Scalar {
                    ArrayRef<int64_t> from = indexing.locate(index);
                    return call.failed() ? Scalar() : self.get(from);
                  });
}

static SmallVector<std::optional<HostTensor>> readIndices(OpCall &call) {
  SmallVector<std::optional<HostTensor>> indices;
  for (const Tensor *tensor : call.optionalTensors("indices"))
    indices.push_back(tensor ? tensor->constant : std::nullopt);
  return indices;
}

static Results index(OpCall &call) {
  return indexBy(call, constant(call, "self"), readIndices(call));
}

/// Where the same element is named twice, the last value stays.
static Results indexPut(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  bool accumulates = call.flag("accumulate", false);
  Indexing indexing(call, self, readIndices(call));
  if (call.failed())
    return {};
  HostTensor values =
      broadcast(call, constant(call, "values"), indexing.getShape());
  if (call.failed() || !affords(call, indexing.getShape()))
    return {};
  Results results = copyElements(call, self);
  if (call.failed())
    return {};
  HostTensor::forEachIndex(indexing.getShape(), [&](ArrayRef<int64_t> index) {
    ArrayRef<int64_t> to = indexing.locate(index);
    if (call.failed())
      return;
    Scalar value = values.get(index);
    if (accumulates) {
      Scalar old = results.front().get(to);
      value = {old.real + value.real,
               int64_t(uint64_t(old.integer) + uint64_t(value.integer))};
    }
    results.front().set(to, value);
  });
  return results;
}

static Results indexSelect(OpCall &call) {
  HostTensor self = atLeastOneDim(constant(call, "self"));
  HostTensor index = atLeastOneDim(constant(call, "index"));
  if (index.getRank() > 1)
    call.fail("selects by a tensor that is no vector");
  SmallVector<std::optional<HostTensor>> indices(
      call.dim("dim", self.getRank()));
  indices.push_back(index);
  Results results = indexBy(call, self, indices);
  if (constant(call, "self").getRank() == 0 && !call.failed())
    return {reshape(call, results.front(), {})};
  return results;
}

static Results embedding(OpCall &call) {
  return indexBy(call, constant(call, "weight"), {constant(call, "indices")});
}

//===----------------------------------------------------------------------===//
// Indices along one dimension
//===----------------------------------------------------------------------===//

/// Whether a tensor of indices along `dim` is inside of `self` in the other
/// dimensions; an error otherwise.
static bool checkAlong(OpCall &call, const HostTensor &self,
                       const HostTensor &index, int64_t dim) {
  checkIndexType(call, index);
  bool fit = index.getRank() == self.getRank();
  for (int64_t other = 0; fit && other < self.getRank(); ++other)
    fit = other == dim || index.getShape()[other] <= self.getShape()[other];
  if (!fit && index.getElements() > 0)
    call.fail("has indices " + spellShape(index.getShape()) + " of " +
              spellShape(self.getShape()));
  return !call.failed();
}

static Results gatherAlong(OpCall &call, const HostTensor &self,
                           const HostTensor &index, int64_t dim) {
  if (index.getElements() == 0)
    return {HostTensor(self.getType(), index.getShape())};
  if (!checkAlong(call, self, index, dim))
    return {};
  DimBits same = sameAlong(index);
  for (auto [other, stride] : enumerate(self.getStrides()))
    same[other] &= int64_t(other) == dim || stride == 0;
  Shape from;
  return generate(call, self.getType(), index.getShape(), same,
                  [&](ArrayRef<int64_t> at) -> Scalar {
                    from.assign(at.begin(), at.end());
                    from[dim] = wrapIndex(call, index.getInteger(at),
                                          self.getShape()[dim]);
                    return call.failed() ? Scalar() : self.get(from);
                  });
}

static Results gather(OpCall &call) {
  HostTensor self = atLeastOneDim(constant(call, "self"));
  const HostTensor &index = constant(call, "index");
  int64_t dim = call.dim("dim", self.getRank());
  Results results = gatherAlong(call, self, atLeastOneDim(index), dim);
  if (call.failed())
    return {};
  return {reshape(call, results.front(), Shape(index.getShape()))};
}

static Results takeAlongDim(OpCall &call) {
  HostTensor self = constant(call, "self"), index = constant(call, "indices");
  if (!call.has("dim"))
    return gatherAlong(call, reshape(call, self, {-1}),
                       reshape(call, index, {-1}), 0);
  int64_t dim = call.dim("dim", self.getRank());
  if (self.getRank() != index.getRank() || self.getRank() == 0)
    call.fail("has indices " + spellShape(index.getShape()) + " of " +
              spellShape(self.getShape()));
  if (call.failed())
    return {};
  Shape other(self.getShape()), shape(index.getShape());
  other[dim] = shape[dim] = 1;
  Shape common = broadcastShape(call, {other, shape});
  if (call.failed())
    return {};
  shape = other = common;
  other[dim] = self.getShape()[dim];
  shape[dim] = index.getShape()[dim];
  self = broadcast(call, self, other);
  index = broadcast(call, index, shape);
  if (call.failed())
    return {};
  return gatherAlong(call, self, index, dim);
}

/// `adds`: to what is there, and not instead of it.
template <bool adds> static Results scatter(OpCall &call) {
  const HostTensor &given = constant(call, "self");
  HostTensor index = atLeastOneDim(constant(call, "index"));
  int64_t dim = call.dim("dim", given.getRank());
  Results results = copyElements(call, atLeastOneDim(given));
  if (call.failed())
    return {};
  HostTensor self = results.front();
  HostTensor source =
      call.has("value")
          ? HostTensor::splat(self.getType(), index.getShape(),
                              number(call, "value", self.getType()))
          : atLeastOneDim(constant(call, "src"));
  if (index.getElements() > 0 &&
      (!checkAlong(call, self, index, dim) ||
       !checkAlong(call, source.cast(Dtype::i64), index, -1) ||
       !affords(call, index.getShape())))
    return {};
  Shape to;
  HostTensor::forEachIndex(index.getShape(), [&](ArrayRef<int64_t> at) {
    to.assign(at.begin(), at.end());
    to[dim] = wrapIndex(call, index.getInteger(at), self.getShape()[dim]);
    if (call.failed())
      return;
    Scalar value = source.get(at);
    if (adds) {
      Scalar old = self.get(to);
      value = {old.real + value.real,
               int64_t(uint64_t(old.integer) + uint64_t(value.integer))};
    }
    self.set(to, value);
  });
  return {given.getRank() ? self : removeDim(self, 0)};
}

//===----------------------------------------------------------------------===//
// Positions in a sorted sequence
//===----------------------------------------------------------------------===//

/// The first position whose element is not below (`isRight`: is above) a value.
static int64_t findPosition(const HostTensor &line, const Scalar &value,
                            bool isRight) {
  int64_t start = 0, end = line.getElements();
  while (start < end) {
    int64_t middle = start + (end - start) / 2;
    Scalar at = line.get({middle});
    bool isFound = line.isFloat() ? (isRight ? at.real > value.real
                                             : at.real >= value.real)
                                  : (isRight ? at.integer > value.integer
                                             : at.integer >= value.integer);
    if (isFound)
      end = middle;
    else
      start = middle + 1;
  }
  return start;
}

static Results searchIn(OpCall &call, StringRef sequenceName) {
  Dtype type = promote(call, {"self", sequenceName});
  HostTensor self = tensorOrNumber(call, "self").cast(type),
             sequence = constant(call, sequenceName).cast(type);
  StringRef side = call.text("side", "");
  bool isRight = call.flag("right", false) || side == "right";
  int64_t rank = sequence.getRank();
  if (call.has("sorter"))
    call.fail("searches a sequence by a sorter, which is not supported");
  bool fits = rank == 1 ||
              (rank > 1 && rank == self.getRank() &&
               sequence.getShape().drop_back() == self.getShape().drop_back());
  if (!fits)
    call.fail("searches " + spellShape(self.getShape()) + " in " +
              spellShape(sequence.getShape()));
  if (call.failed())
    return {};
  DimBits same = sameAlong(self);
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    same[dim] &= sequence.getStrides()[dim] == 0;
  return generate(
      call, call.flag("out_int32", false) ? Dtype::i32 : Dtype::i64,
      self.getShape(), same, [&](ArrayRef<int64_t> index) {
        int64_t offset = 0;
        for (int64_t dim = 0; dim < rank - 1; ++dim)
          offset += index[dim] * sequence.getStrides()[dim];
        HostTensor line = sequence.view({sequence.getShape().back()},
                                        {sequence.getStrides().back()}, offset);
        return Scalar{0, findPosition(line, self.get(index), isRight)};
      });
}

static Results bucketize(OpCall &call) { return searchIn(call, "boundaries"); }
static Results searchSorted(OpCall &call) {
  return searchIn(call, "sorted_sequence");
}

ArrayRef<EvaluatedOp> pt2::getIndexOps() {
  static const EvaluatedOp ops[] = {
      {"aten.index.Tensor", checked<index>},
      {"aten._unsafe_index.Tensor", checked<index>},
      {"aten.index_put.default", checked<indexPut>},
      {"aten.index_select.default", checked<indexSelect>},
      {"aten.embedding.default", checked<embedding>},
      {"aten.gather.default", checked<gather>},
      {"aten.take_along_dim.default", checked<takeAlongDim>},
      {"aten.scatter.src", checked<scatter<false>>},
      {"aten.scatter.value", checked<scatter<false>>},
      {"aten.scatter_add.default", checked<scatter<true>>},
      {"aten.bucketize.Tensor", checked<bucketize>},
      {"aten.bucketize.Scalar", checked<bucketize>},
      {"aten.searchsorted.Tensor", checked<searchSorted>},
      {"aten.searchsorted.Scalar", checked<searchSorted>},
  };
  return ops;
}
