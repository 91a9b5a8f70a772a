//===- EvaluateJoins.cpp - Constants joined, repeated, padded -------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

Results pt2::concatenate(OpCall &call, ArrayRef<HostTensor> tensors,
                         int64_t dim, Dtype type) {
  Shape shape(tensors.front().getShape());
  DimBits same(shape.size(), true);
  SmallVector<HostTensor> parts;
  SmallVector<int64_t> starts;
  int64_t total = 0;
  for (const HostTensor &tensor : tensors) {
    Shape own(tensor.getShape());
    if (own.size() != shape.size() || dim >= int64_t(own.size())) {
      call.fail("joins tensors of " + Twine(shape.size()) + " and of " +
                Twine(own.size()) + " dimensions");
      return {};
    }
    bool fit =
        llvm::equal(drop_begin(own, dim + 1), drop_begin(shape, dim + 1)) &&
        llvm::equal(ArrayRef<int64_t>(own).take_front(dim),
                    ArrayRef<int64_t>(shape).take_front(dim));
    if (!fit)
      call.fail("joins " + spellShape(shape) + " with " + spellShape(own) +
                " along the dimension " + Twine(dim));
    starts.push_back(total);
    total += tensor.getShape()[dim];
    parts.push_back(tensor.cast(type));
    for (auto [bit, stride] : zip_equal(same, parts.back().getStrides()))
      bit &= stride == 0;
  }
  shape[dim] = total;
  same[dim] = false;
  Shape inside;
  return generate(call, type, shape, same, [&](ArrayRef<int64_t> index) {
    size_t part = llvm::upper_bound(starts, index[dim]) - starts.begin() - 1;
    inside.assign(index.begin(), index.end());
    inside[dim] -= starts[part];
    return parts[part].get(inside);
  });
}

static SmallVector<HostTensor> joined(OpCall &call) {
  SmallVector<HostTensor> tensors;
  for (const Tensor *tensor : call.tensors("tensors"))
    tensors.push_back(*tensor->constant);
  if (tensors.empty())
    call.fail("joins no tensors");
  return tensors;
}

/// Joins along a dimension, which a negative number counts from the end.
static Results join(OpCall &call, ArrayRef<HostTensor> tensors, int64_t dim) {
  // A vector without elements fits everywhere.
  SmallVector<HostTensor> filled;
  for (const HostTensor &tensor : tensors)
    if (tensor.getShape() != ArrayRef<int64_t>{0})
      filled.push_back(tensor);
  if (filled.empty() && !call.failed())
    filled.push_back(tensors.front());
  if (call.failed())
    return {};
  int64_t rank = filled.front().getRank();
  dim = call.wrapDim(dim, rank);
  if (rank == 0)
    call.fail("joins tensors of rank 0");
  if (call.failed())
    return {};
  return concatenate(call, filled, dim, call.result().type);
}

static Results cat(OpCall &call) {
  return join(call, joined(call), call.integer("dim", 0));
}

/// A tensor with `rank` dimensions at least: [n] as [1, n] and as [1, n, 1].
static HostTensor atLeast(HostTensor tensor, int64_t rank) {
  if (rank >= 1 && tensor.getRank() == 0)
    tensor = insertDim(tensor, 0);
  if (rank >= 2 && tensor.getRank() == 1)
    tensor = insertDim(tensor, 0);
  if (rank >= 3 && tensor.getRank() == 2)
    tensor = insertDim(tensor, 2);
  return tensor;
}

template <int rank> static Results atLeastDims(OpCall &call) {
  return {atLeast(constant(call, "self"), rank)};
}

/// vstack (1), hstack (2) and dstack (3): joins along the dimension of tensors
/// that have it; hstack joins vectors along their own.
template <int rank> static Results stackAlong(OpCall &call) {
  SmallVector<HostTensor> tensors = joined(call);
  bool areVectors = false;
  for (HostTensor &tensor : tensors) {
    tensor = atLeast(tensor, rank == 1 ? 2 : rank == 2 ? 1 : 3);
    areVectors |= tensor.getRank() == 1;
  }
  return join(call, tensors, areVectors ? 0 : rank - 1);
}

/// Vectors are columns.
static Results columnStack(OpCall &call) {
  SmallVector<HostTensor> tensors = joined(call);
  for (HostTensor &tensor : tensors)
    if (tensor.getRank() < 2)
      tensor = insertDim(atLeastOneDim(tensor), 1);
  return join(call, tensors, 1);
}

static Results stack(OpCall &call) {
  SmallVector<HostTensor> tensors = joined(call);
  if (call.failed())
    return {};
  int64_t rank = tensors.front().getRank(), dim = call.dim("dim", rank + 1, 0);
  for (HostTensor &tensor : tensors) {
    if (tensor.getRank() != rank)
      call.fail("stacks tensors of " + Twine(rank) + " and of " +
                Twine(tensor.getRank()) + " dimensions");
    if (call.failed())
      return {};
    tensor = insertDim(tensor, dim);
  }
  return concatenate(call, tensors, dim, call.result().type);
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

/// Views each dimension as [count, size] (`interleaves`: [size, count]) with a
/// stride of 0, and joins the two.
static Results repeatDims(OpCall &call, HostTensor tensor,
                          ArrayRef<int64_t> counts, bool interleaves) {
  while (tensor.getRank() < int64_t(counts.size()))
    tensor = insertDim(tensor, 0);
  Shape shape, pairs, strides;
  for (auto [count, size, stride] :
       zip_equal(counts, tensor.getShape(), tensor.getStrides())) {
    int64_t repeated = 0;
    if (count < 0 || MulOverflow(count, size, repeated))
      call.fail("repeats " + Twine(size) + " elements " + Twine(count) +
                " times");
    shape.push_back(repeated);
    pairs.append({interleaves ? size : count, interleaves ? count : size});
    strides.append({interleaves ? stride : 0, interleaves ? 0 : stride});
  }
  if (call.failed() || !fits(call, shape, {}) || !fits(call, pairs, {}))
    return {};
  return {reshape(call, tensor.view(pairs, strides), shape)};
}

static Results repeat(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Shape counts = call.integers("repeats");
  if (int64_t(counts.size()) < self.getRank())
    call.fail("repeats " + Twine(counts.size()) + " dimensions of " +
              Twine(self.getRank()));
  if (call.failed())
    return {};
  return repeatDims(call, self, counts, /*interleaves=*/false);
}

static Results tile(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Shape counts = call.integers("dims");
  if (int64_t(counts.size()) < self.getRank())
    counts.insert(counts.begin(), self.getRank() - counts.size(), 1);
  return repeatDims(call, self, counts, /*interleaves=*/false);
}

static Results repeatInterleave(OpCall &call) {
  HostTensor self = atLeastOneDim(constant(call, "self"));
  if (!call.has("dim"))
    self = reshape(call, self, {-1});
  Shape counts(self.getRank(), 1);
  counts[call.dim("dim", self.getRank(), 0)] = call.integer("repeats");
  if (call.failed())
    return {};
  return repeatDims(call, self, counts, /*interleaves=*/true);
}

static Results roll(OpCall &call) {
  HostTensor self = constant(call, "self");
  Shape shifts = call.integers("shifts"), dims = call.integers("dims", Shape());
  bool isFlat = dims.empty() && shifts.size() == 1;
  Shape shape(self.getShape());
  if (isFlat) {
    dims = {0};
    self = reshape(call, self, {self.getElements()});
  }
  if (dims.size() != shifts.size())
    call.fail("rolls " + Twine(dims.size()) + " dimensions by " +
              Twine(shifts.size()) + " shifts");
  for (auto [dim, shift] : llvm::zip(dims, shifts)) {
    dim = call.wrapDim(dim, self.getRank());
    if (call.failed())
      return {};
    int64_t size = self.getShape()[dim];
    if (size == 0)
      continue;
    int64_t split = (size - shift % size) % size;
    Results rolled = concatenate(call,
                                 {sliceDim(self, dim, split, size - split),
                                  sliceDim(self, dim, 0, split)},
                                 dim, self.getType());
    if (call.failed())
      return {};
    self = rolled.front();
  }
  return {isFlat ? reshape(call, self, shape) : self};
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The element that a padded dimension has at a position before its first
/// (negative) or after its last.
static int64_t mirror(int64_t at, int64_t size) {
  if (at < 0)
    at = -at;
  return at < size ? at : 2 * (size - 1) - at;
}

static Results pad(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  StringRef mode = call.text("mode", "constant");
  bool isConstant = mode == "constant", isReflect = mode == "reflect",
       isReplicate = mode == "replicate", isCircular = mode == "circular";
  if (!isConstant && !isReflect && !isReplicate && !isCircular)
    call.fail("has the unknown mode '" + mode + "'");
  Shape pads = call.integers("pad"), shape(self.getShape());
  int64_t rank = self.getRank();
  Shape before(rank, 0);
  if (pads.size() % 2 || int64_t(pads.size()) > 2 * rank) {
    call.fail("pads a tensor of " + Twine(rank) + " dimensions by " +
              Twine(pads.size()) + " numbers");
    return {};
  }
  DimBits same = sameAlong(self);
  // Pairs from the last dimension on.
  for (size_t i = 0; i < pads.size(); i += 2) {
    int64_t dim = rank - 1 - i / 2, size = shape[dim];
    int64_t first = pads[i], last = pads[i + 1];
    int64_t most = isReflect                ? size - 1
                   : isCircular             ? size
                   : isConstant || size > 0 ? int64_t{1} << 48
                                            : 0;
    if (std::max(first, last) > most || std::min(first, last) < -size ||
        size + first + last < 0)
      call.fail("pads " + Twine(size) + " elements by " + Twine(first) +
                " and " + Twine(last));
    before[dim] = first;
    same[dim] &= first == 0 && last == 0;
    if (!call.failed())
      shape[dim] = size + first + last;
  }
  Scalar value = number(call, "value", self.getType(), 0);
  Shape inside;
  return generate(call, self.getType(), shape, same,
                  [&](ArrayRef<int64_t> index) {
                    inside.assign(index.begin(), index.end());
                    for (auto [at, first, size] :
                         zip_equal(inside, before, self.getShape())) {
                      at -= first;
                      if (isConstant && (at < 0 || at >= size))
                        return value;
                      if (isReflect)
                        at = mirror(at, size);
                      else if (isCircular)
                        at = (at + size) % size;
                      else
                        at = std::clamp<int64_t>(at, 0, size - 1);
                    }
                    return self.get(inside);
                  });
}

ArrayRef<EvaluatedOp> pt2::getJoinOps() {
  static const EvaluatedOp ops[] = {
      {"aten.cat.default", checked<cat>},
      {"aten.stack.default", checked<stack>},
      {"aten.atleast_1d.default", checked<atLeastDims<1>>},
      {"aten.atleast_2d.default", checked<atLeastDims<2>>},
      {"aten.atleast_3d.default", checked<atLeastDims<3>>},
      {"aten.vstack.default", checked<stackAlong<1>>},
      {"aten.hstack.default", checked<stackAlong<2>>},
      {"aten.dstack.default", checked<stackAlong<3>>},
      {"aten.column_stack.default", checked<columnStack>},
      {"aten.repeat.default", checked<repeat>},
      {"aten.tile.default", checked<tile>},
      {"aten.repeat_interleave.self_int", checked<repeatInterleave>},
      {"aten.roll.default", checked<roll>},
      {"aten.pad.default", checked<pad>},
      {"aten.constant_pad_nd.default", checked<pad>},
  };
  return ops;
}
