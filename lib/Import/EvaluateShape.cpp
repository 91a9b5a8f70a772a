//===- EvaluateShape.cpp - Ops that are views of a constant ---------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <numeric>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Shapes of the same elements
//===----------------------------------------------------------------------===//

static Results view(OpCall &call) {
  return {reshape(call, constant(call, "self"), call.integers("size"))};
}

static Results reshapeTo(OpCall &call) {
  return {reshape(call, constant(call, "self"), call.integers("shape"))};
}

static Results viewAs(OpCall &call) {
  return {reshape(call, constant(call, "self"),
                  Shape(constant(call, "other").getShape()))};
}

static Results flatten(OpCall &call) {
  HostTensor self = atLeastOneDim(constant(call, "self"));
  int64_t first = call.dim("start_dim", self.getRank(), 0);
  int64_t last = call.dim("end_dim", self.getRank(), -1);
  if (first > last)
    call.fail("flattens the dimensions " + Twine(first) + " to " + Twine(last));
  if (call.failed())
    return {};
  ArrayRef<int64_t> sizes = self.getShape();
  Shape shape(sizes.take_front(first));
  shape.push_back(countElements(sizes.slice(first, last - first + 1)));
  shape.append(sizes.begin() + last + 1, sizes.end());
  return {reshape(call, self, shape)};
}

static Results ravel(OpCall &call) {
  return {reshape(call, constant(call, "self"), {-1})};
}

static Results unflatten(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank());
  Shape sizes = call.integers("sizes"), shape(self.getShape());
  if (shape.empty())
    call.fail("unflattens a tensor of rank 0");
  if (call.failed())
    return {};
  // What is -1 is known from this dimension alone.
  HostTensor split =
      reshape(call, HostTensor::splat(Dtype::boolean, {shape[dim]}, {}), sizes);
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, split.getShape().begin(),
               split.getShape().end());
  return {reshape(call, self, shape)};
}

static Results unsqueeze(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  return {insertDim(self, call.dim("dim", self.getRank() + 1))};
}

/// Removes those of the dimensions whose size is 1.
static Results squeeze(OpCall &call) {
  HostTensor result = constant(call, "self");
  if (call.has("dim") && call.integers("dim").empty())
    return {result};
  Shape dims = call.dims("dim", result.getRank());
  for (int64_t dim : reverse(dims))
    if (dim < result.getRank() && result.getShape()[dim] == 1)
      result = removeDim(result, dim);
  return {result};
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

/// A size of -1 stays as it is.
static Results expandTo(OpCall &call, const HostTensor &tensor, Shape size) {
  int64_t added = int64_t(size.size()) - tensor.getRank();
  for (auto [dim, each] : enumerate(size))
    if (each == -1 && int64_t(dim) >= added && added >= 0)
      each = tensor.getShape()[dim - added];
  return {broadcast(call, tensor, size)};
}

static Results expand(OpCall &call) {
  return expandTo(call, constant(call, "self"), call.integers("size"));
}

static Results expandAs(OpCall &call) {
  return expandTo(call, constant(call, "self"),
                  Shape(constant(call, "other").getShape()));
}

static Results broadcastTensors(OpCall &call) {
  SmallVector<Shape> shapes;
  std::vector<const Tensor *> tensors = call.tensors("tensors");
  if (call.failed())
    return {};
  for (const Tensor *tensor : tensors)
    shapes.push_back(Shape(tensor->constant->getShape()));
  Shape shape = broadcastShape(call, shapes);
  Results results;
  for (const Tensor *tensor : tensors)
    results.push_back(broadcast(call, *tensor->constant, shape));
  return results;
}

/// Each vector along a dimension of its own; "xy" swaps the first two.
static Results meshgrid(OpCall &call) {
  StringRef indexing = call.text("indexing", "ij");
  if (indexing != "ij" && indexing != "xy")
    call.fail("has the unknown indexing '" + indexing + "'");
  SmallVector<HostTensor> vectors;
  Shape shape;
  for (const Tensor *tensor : call.tensors("tensors")) {
    if (tensor->constant->getRank() > 1)
      call.fail("makes a grid of a tensor that is no vector");
    if (call.failed())
      return {};
    vectors.push_back(atLeastOneDim(*tensor->constant));
    shape.push_back(vectors.back().getShape().front());
  }
  bool swaps = indexing == "xy" && shape.size() > 1;
  if (swaps)
    std::swap(shape[0], shape[1]);
  Results results;
  for (auto [number, vector] : enumerate(vectors)) {
    int64_t dim = swaps && number < 2 ? 1 - number : number;
    Shape own(shape.size(), 1);
    own[dim] = shape[dim];
    results.push_back(broadcast(call, reshape(call, vector, own), shape));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Orders of dimensions
//===----------------------------------------------------------------------===//

static Results permuteDims(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Shape dims = call.integers("dims");
  for (int64_t &dim : dims)
    dim = call.wrapDim(dim, self.getRank());
  Shape sorted = dims;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, seq<int64_t>(0, self.getRank())))
    call.fail("permutes " + Twine(self.getRank()) + " dimensions by " +
              spellShape(dims));
  if (call.failed())
    return {};
  return {permute(self, dims)};
}

static HostTensor swapDims(const HostTensor &tensor, int64_t a, int64_t b) {
  if (tensor.getRank() == 0)
    return tensor;
  Shape dims(tensor.getRank());
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[a], dims[b]);
  return permute(tensor, dims);
}

static Results transpose(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  bool isAxis = call.has("axis0");
  int64_t a = call.dim(isAxis ? "axis0" : "dim0", self.getRank());
  int64_t b = call.dim(isAxis ? "axis1" : "dim1", self.getRank());
  return {swapDims(self, a, b)};
}

/// Transposes a matrix, or each of a batch; vectors stay as they are.
static Results transposeMatrix(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t rank = self.getRank();
  return {rank < 2 ? self : swapDims(self, rank - 2, rank - 1)};
}

static Results reverseDims(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Shape dims(self.getRank());
  std::iota(dims.rbegin(), dims.rend(), 0);
  return {permute(self, dims)};
}

static Results moveDims(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t rank = self.getRank();
  Shape from = call.integers("source"), to = call.integers("destination");
  if (from.size() != to.size())
    call.fail("moves " + Twine(from.size()) + " dimensions to " +
              Twine(to.size()));
  if (call.failed() || rank == 0)
    return {self};
  Shape order(rank, -1);
  DimBits isMoved(rank, false);
  for (auto [source, destination] : zip_equal(from, to)) {
    source = call.wrapDim(source, rank);
    destination = call.wrapDim(destination, rank);
    if (isMoved[source] || order[destination] != -1)
      call.fail("moves a dimension twice");
    isMoved[source] = true;
    order[destination] = source;
  }
  if (call.failed())
    return {};
  int64_t next = 0;
  for (int64_t &dim : order) {
    if (dim != -1)
      continue;
    while (isMoved[next])
      ++next;
    dim = next++;
  }
  return {permute(self, order)};
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static Results slice(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.slice(self.getShape());
  if (call.failed())
    return {};
  return {sliceDim(self, range.dim, range.start, range.size, range.step)};
}

static Results select(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.select(self.getShape());
  if (call.failed())
    return {};
  return {removeDim(self, range.dim, range.start)};
}

/// Whether a range is inside of a dimension; an error otherwise.
static bool checkRange(OpCall &call, int64_t start, int64_t length,
                       int64_t size) {
  if (start < 0 || length < 0 || start > size || length > size - start)
    call.fail("takes " + Twine(length) + " elements from " + Twine(start) +
              " on of " + Twine(size));
  return !call.failed();
}

static Results narrow(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank());
  if (self.getRank() == 0)
    call.fail("narrows a tensor of rank 0");
  int64_t start = call.integer("start"), length = call.integer("length");
  if (call.failed())
    return {};
  int64_t size = self.getShape()[dim];
  if (start < 0)
    start += size;
  if (!checkRange(call, start, length, size))
    return {};
  return {sliceDim(self, dim, start, length)};
}

/// Cuts a dimension into parts of these sizes, which fill it.
static Results cut(OpCall &call, ArrayRef<int64_t> sizes) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), 0), start = 0;
  Results parts;
  for (int64_t size : sizes) {
    if (!checkRange(call, start, size, self.getShape()[dim]))
      return {};
    parts.push_back(sliceDim(self, dim, start, size));
    start += size;
  }
  if (start != self.getShape()[dim])
    call.fail("splits " + Twine(self.getShape()[dim]) +
              " elements into parts of " + spellShape(sizes));
  return parts;
}

/// Cuts a dimension into parts of one size; the last may be smaller.
static Results cutEvenly(OpCall &call, int64_t part) {
  const HostTensor &self = constant(call, "self");
  int64_t size = self.getShape()[call.dim("dim", self.getRank(), 0)];
  // The archive's results are the only bound that a hostile size has.
  if (part < 0 || (part == 0 && size > 0) ||
      (part > 0 && (size - 1) / part >= call.getResults()))
    call.fail("splits " + Twine(size) + " elements into " +
              Twine(call.getResults()) + " parts of " + Twine(part));
  if (call.failed())
    return {};
  Shape sizes;
  for (int64_t start = 0; start < size; start += sizes.back())
    sizes.push_back(std::min(part, size - start));
  if (size == 0)
    sizes.push_back(0);
  return cut(call, sizes);
}

static bool checkSplits(OpCall &call) {
  if (constant(call, "self").getRank() == 0)
    call.fail("splits a tensor of rank 0");
  return !call.failed();
}

static Results split(OpCall &call) {
  if (!checkSplits(call))
    return {};
  return cutEvenly(call, call.integer("split_size"));
}

static Results splitBySizes(OpCall &call) {
  if (!checkSplits(call))
    return {};
  return cut(call, call.integers(call.has("split_sizes") ? "split_sizes"
                                                         : "split_size"));
}

static Results chunk(OpCall &call) {
  if (!checkSplits(call))
    return {};
  const HostTensor &self = constant(call, "self");
  int64_t size = self.getShape()[call.dim("dim", self.getRank(), 0)];
  int64_t chunks = call.integer("chunks");
  if (chunks < 1)
    call.fail("splits into " + Twine(chunks) + " chunks");
  if (call.failed())
    return {};
  // An empty dimension has as many empty chunks as were asked for.
  if (size == 0)
    return cut(call, Shape(call.getResults(), 0));
  return cutEvenly(call, (size - 1) / chunks + 1);
}

static Results unbind(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), 0);
  if (!checkSplits(call))
    return {};
  Results parts;
  if (self.getShape()[dim] != call.getResults())
    call.fail("has " + Twine(self.getShape()[dim]) +
              " results, and the archive names " + Twine(call.getResults()));
  for (unsigned i = 0; !call.failed() && i < call.getResults(); ++i)
    parts.push_back(removeDim(self, dim, i));
  return parts;
}

static Results flip(OpCall &call) {
  HostTensor self = constant(call, "self");
  if (!call.integers("dims").empty())
    for (int64_t dim : call.dims("dims", self.getRank()))
      if (int64_t size = self.getShape()[dim])
        self = sliceDim(self, dim, size - 1, size, -1);
  return {self};
}

static Results diagonal(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t rank = self.getRank(), offset = call.integer("offset", 0);
  int64_t rows = call.dim("dim1", rank, 0), columns = call.dim("dim2", rank, 1);
  if (rank < 2 || rows == columns)
    call.fail("takes the diagonal of one dimension");
  if (call.failed())
    return {};
  Shape shape(self.getShape()), strides(self.getStrides());
  int64_t height = shape[rows], width = shape[columns];
  offset = std::clamp(offset, -height, width);
  int64_t size = offset < 0 ? std::min(height + offset, width)
                            : std::min(height, width - offset);
  int64_t step = strides[rows] + strides[columns];
  int64_t start =
      offset < 0 ? -offset * strides[rows] : offset * strides[columns];
  for (int64_t dim : {std::max(rows, columns), std::min(rows, columns)}) {
    shape.erase(shape.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
  shape.push_back(size);
  strides.push_back(step);
  return {self.view(shape, strides, start)};
}

static Results unfold(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dimension", self.getRank());
  int64_t window = call.integer("size"), step = call.integer("step");
  if (self.getRank() == 0)
    call.fail("unfolds a tensor of rank 0");
  if (call.failed())
    return {};
  Shape shape(self.getShape()), strides(self.getStrides());
  if (window < 0 || window > shape[dim] || step < 1)
    call.fail("unfolds " + Twine(shape[dim]) + " elements into windows of " +
              Twine(window) + " in steps of " + Twine(step));
  if (call.failed())
    return {};
  int64_t stride = strides[dim];
  shape[dim] = (shape[dim] - window) / step + 1;
  if (shape[dim] > 1)
    strides[dim] *= step;
  shape.push_back(window);
  strides.push_back(stride);
  HostTensor result = self.view(shape, strides);
  // Windows overlap, and copies of the view would not.
  if (!fits(call, shape, distinctShape(shape, sameAlong(result))))
    return {};
  return {result};
}

ArrayRef<EvaluatedOp> pt2::getViewOps() {
  static const EvaluatedOp ops[] = {
      {"aten.view.default", checked<view>},
      {"aten._unsafe_view.default", checked<view>},
      {"aten.reshape.default", checked<reshapeTo>},
      {"aten.view_as.default", checked<viewAs>},
      {"aten.reshape_as.default", checked<viewAs>},
      {"aten.flatten.using_ints", checked<flatten>},
      {"aten.ravel.default", checked<ravel>},
      {"aten.unflatten.int", checked<unflatten>},
      {"aten.unsqueeze.default", checked<unsqueeze>},
      {"aten.squeeze.default", checked<squeeze>},
      {"aten.squeeze.dim", checked<squeeze>},
      {"aten.squeeze.dims", checked<squeeze>},
      {"aten.expand.default", checked<expand>},
      {"aten.broadcast_to.default", checked<expand>},
      {"aten.expand_as.default", checked<expandAs>},
      {"aten.broadcast_tensors.default", checked<broadcastTensors>},
      {"aten.meshgrid.default", checked<meshgrid>},
      {"aten.meshgrid.indexing", checked<meshgrid>},
      {"aten.permute.default", checked<permuteDims>},
      {"aten.transpose.int", checked<transpose>},
      {"aten.swapaxes.default", checked<transpose>},
      {"aten.t.default", checked<transposeMatrix>},
      {"aten.mT.default", checked<transposeMatrix>},
      {"aten.numpy_T.default", checked<reverseDims>},
      {"aten.movedim.int", checked<moveDims>},
      {"aten.movedim.intlist", checked<moveDims>},
      {"aten.slice.Tensor", checked<slice>},
      {"aten.select.int", checked<select>},
      {"aten.narrow.default", checked<narrow>},
      {"aten.split.Tensor", checked<split>},
      {"aten.split.sizes", checked<splitBySizes>},
      {"aten.split.default", checked<splitBySizes>},
      {"aten.split_with_sizes.default", checked<splitBySizes>},
      {"aten.chunk.default", checked<chunk>},
      {"aten.unbind.int", checked<unbind>},
      {"aten.flip.default", checked<flip>},
      {"aten.diagonal.default", checked<diagonal>},
      {"aten.unfold.default", checked<unfold>},
  };
  return ops;
}
