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
  };
  return ops;
}
