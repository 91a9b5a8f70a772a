//===- BuildShape.cpp - Ops that move elements ----------------------------===//

#include "BuildShape.h"
#include "BuildIndexed.h"
#include "EvaluateConstants.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

Value pt2::sliceStep(Emitter &emit, Value x, int64_t dim, int64_t begin,
                     int64_t count, int64_t step) {
  if (step == 1)
    return emit.sliceDim(x, dim, begin, count);
  // Whole groups of `step` elements, of which the first is taken.
  Shape shape(Emitter::shapeOf(x));
  Shape padded = shape;
  padded[dim] = std::max(padded[dim], begin + count * step);
  x = emit.pad(x, padded, Shape(shape.size(), 0));
  x = emit.sliceDim(x, dim, begin, count * step);
  Shape groups(Emitter::shapeOf(x));
  groups[dim] = count;
  groups.insert(groups.begin() + dim + 1, step);
  x = emit.sliceDim(emit.reshape(x, groups), dim + 1, 0, 1);
  shape[dim] = count;
  return emit.reshape(x, shape);
}

namespace {

/// The operand, which is called "self" or "input".
Value operandOf(OpCall &call, Emitter &emit) {
  call.has("other"); // expand_as, view_as: the result's shape is known
  return emit.value(call.tensor(call.has("self") ? "self" : "input"));
}

/// What only changes the shape, row-major.
Values buildReshape(OpCall &call, Emitter &emit) {
  return {emit.reshape(operandOf(call, emit), call.result().shape)};
}

Values buildExpand(OpCall &call, Emitter &emit) {
  return {emit.broadcastTo(operandOf(call, emit), call.result().shape)};
}

Values buildBroadcastTensors(OpCall &call, Emitter &emit) {
  Values results;
  for (auto [i, tensor] : enumerate(call.tensors("tensors")))
    results.push_back(
        emit.broadcastTo(emit.value(*tensor), call.result(i).shape));
  return results;
}

/// The i-th of n vectors along dimension i of n; the first two dimensions
/// change places with "xy".
Values buildMeshgrid(OpCall &call, Emitter &emit) {
  bool swaps = call.text("indexing", "ij") == "xy";
  Values results;
  for (auto [i, tensor] : enumerate(call.tensors("tensors"))) {
    const Shape &to = call.result(i).shape;
    if (i >= to.size()) {
      call.fail("makes a grid of fewer dimensions than it has vectors");
      return {};
    }
    Shape column(to.size(), 1);
    column[swaps && i < 2 && to.size() > 1 ? 1 - i : i] =
        countElements(tensor->shape);
    results.push_back(
        emit.broadcastTo(emit.reshape(emit.value(*tensor), column), to));
  }
  return results;
}

Shape identity(int64_t rank) {
  Shape perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

Values buildPermute(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  Shape perm = call.integers("dims");
  for (int64_t &dim : perm)
    dim = call.wrapDim(dim, Emitter::rankOf(x));
  Shape sorted = perm;
  llvm::sort(sorted);
  if (sorted != identity(Emitter::rankOf(x))) {
    call.fail("permutes dimensions that are not those of its tensor");
    return {};
  }
  return {emit.transpose(x, perm)};
}

/// The last two dimensions: x.mT, and x.mH of real numbers.
Values buildTransposeLast(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t rank = Emitter::rankOf(x);
  Shape perm = identity(rank);
  if (rank >= 2)
    std::swap(perm[rank - 2], perm[rank - 1]);
  return {emit.transpose(x, perm)};
}

Values buildTranspose(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t rank = Emitter::rankOf(x);
  Shape perm = identity(rank);
  if (rank < 2)
    return {x};
  if (call.has("axis0")) {
    std::swap(perm[call.dim("axis0", rank)], perm[call.dim("axis1", rank)]);
    return {emit.transpose(x, perm)};
  }
  bool isShort = call.getOp().starts_with("aten.t.");
  std::swap(
      perm[call.dim("dim0", rank, isShort ? 0 : std::optional<int64_t>())],
      perm[call.dim("dim1", rank, isShort ? 1 : std::optional<int64_t>())]);
  return {emit.transpose(x, perm)};
}

Values buildReverse(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  Shape perm = identity(Emitter::rankOf(x));
  std::reverse(perm.begin(), perm.end());
  return {emit.transpose(x, perm)};
}

Values buildMoveDim(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t rank = Emitter::rankOf(x);
  Shape from = call.integers("source"), to = call.integers("destination");
  if (from.size() != to.size()) {
    call.fail("moves " + Twine(from.size()) + " dimensions to " +
              Twine(to.size()));
    return {};
  }
  Shape perm(rank, -1);
  SmallVector<bool> moved(rank, false);
  for (auto [source, destination] : zip_equal(from, to)) {
    int64_t dim = call.wrapDim(source, rank);
    perm[call.wrapDim(destination, rank)] = dim;
    moved[dim] = true;
  }
  int64_t next = 0;
  for (int64_t &dim : perm) {
    if (dim >= 0)
      continue;
    while (next < rank && moved[next])
      ++next;
    dim = next++;
  }
  return {emit.transpose(x, perm)};
}

Values buildSlice(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  DimRange range = call.slice(Emitter::shapeOf(x));
  if (!call.failed() && range.size == 0)
    call.fail("makes an empty tensor, which models do not have");
  if (call.failed())
    return {};
  return {sliceStep(emit, x, range.dim, range.start, range.size, range.step)};
}

Values buildNarrow(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t dim = call.dim("dim", Emitter::rankOf(x)),
          size = Emitter::rankOf(x) == 0 ? 0 : Emitter::shapeOf(x)[dim],
          begin = call.integer("start"), length = call.integer("length");
  if (begin < 0)
    begin += size;
  if (begin < 0 || begin > size || length < 1 || length > size - begin) {
    call.fail("takes " + Twine(length) + " elements from " + Twine(begin) +
              " on of " + Twine(size));
    return {};
  }
  return {emit.sliceDim(x, dim, begin, length)};
}

Values buildSelect(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  DimRange range = call.select(Emitter::shapeOf(x));
  if (call.failed())
    return {};
  return {emit.reshape(emit.sliceDim(x, range.dim, range.start, 1),
                       call.result().shape)};
}

/// The dimension of hsplit, vsplit and dsplit, which have no such argument.
int64_t splitDim(OpCall &call, int64_t rank) {
  StringRef op = call.getOp();
  if (op.starts_with("aten.hsplit."))
    return rank > 1 ? 1 : 0;
  return op.starts_with("aten.dsplit.") ? 2 : 0;
}

/// Parts one after the other along a dimension, of the sizes that the archive
/// says; unbind's lack the dimension.
Values buildSplit(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t rank = Emitter::rankOf(x), begin = 0;
  int64_t dim = call.dim("dim", rank, splitDim(call, rank));
  call.has("indices"); // the shapes of the results have them
  if (rank == 0)
    call.fail("splits a number");
  if (call.failed())
    return {};
  bool unbinds = call.getOp().contains("unbind");
  Values parts;
  for (unsigned i = 0; i < call.getResults(); ++i) {
    const Shape &shape = call.result(i).shape;
    if (int64_t(shape.size()) != Emitter::rankOf(x) - unbinds) {
      call.fail("makes parts of another rank than its tensor");
      return {};
    }
    int64_t size = unbinds ? 1 : shape[dim];
    if (begin + size > Emitter::shapeOf(x)[dim]) {
      call.fail("makes parts that are larger than its tensor");
      return {};
    }
    parts.push_back(emit.reshape(emit.sliceDim(x, dim, begin, size), shape));
    begin += size;
  }
  return parts;
}

Values buildCat(OpCall &call, Emitter &emit) {
  const TensorMeta &meta = call.result();
  bool stacks = call.getOp().contains("stack");
  int64_t dim = call.dim("dim", meta.shape.size(), 0);
  Values parts;
  for (const Tensor *tensor : call.tensors("tensors")) {
    if (countElements(tensor->shape) == 0)
      continue; // an old form of "nothing"
    Value part = tensor->constant
                     ? emit.constant(tensor->constant->cast(meta.type))
                     : emit.castTo(tensor->value, meta.type);
    if (stacks) {
      Shape shape(tensor->shape);
      if (shape.size() + 1 != meta.shape.size()) {
        call.fail("stacks tensors of another rank than its result");
        return {};
      }
      shape.insert(shape.begin() + dim, 1);
      part = emit.reshape(part, shape);
    }
    parts.push_back(part);
  }
  return {emit.concat(parts, dim)};
}

/// hstack, vstack, dstack, column_stack: at least one, two or three dimensions,
/// then a concat.
Values buildStackOf(OpCall &call, Emitter &emit) {
  const TensorMeta &meta = call.result();
  bool isColumn = call.getOp().contains("column_stack"),
       isVertical = call.getOp().contains("vstack"),
       isDeep = call.getOp().contains("dstack");
  if (meta.shape.empty()) {
    call.fail("makes a number of tensors");
    return {};
  }
  int64_t rank = meta.shape.size(), dim = isDeep                    ? 2
                                          : isVertical || rank == 1 ? 0
                                                                    : 1;
  Values parts;
  for (const Tensor *tensor : call.tensors("tensors")) {
    Value part = emit.castTo(emit.value(*tensor), meta.type);
    Shape shape(tensor->shape);
    while (int64_t(shape.size()) < rank)
      shape.insert((isColumn && !shape.empty()) || (isDeep && shape.size() > 1)
                       ? shape.end()
                       : shape.begin(),
                   1);
    parts.push_back(emit.reshape(part, shape));
  }
  return {emit.concat(parts, dim)};
}

Values buildRepeat(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  const Shape &to = call.result().shape;
  Shape from(Emitter::shapeOf(x));
  if (from.size() > to.size() || llvm::is_contained(from, 0)) {
    call.fail("repeats a tensor of more dimensions than its result, or an "
              "empty one");
    return {};
  }
  from.insert(from.begin(), to.size() - from.size(), 1);
  // [a, b] as [1, a, 1, b], repeated along the new dimensions.
  Shape spread, repeated;
  for (auto [size, whole] : zip_equal(from, to)) {
    spread.append({1, size});
    repeated.append({whole / size, size});
  }
  return {
      emit.reshape(emit.broadcastTo(emit.reshape(x, spread), repeated), to)};
}

Values buildRepeatInterleave(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  int64_t times = call.integer("repeats");
  if (!call.has("dim"))
    x = emit.reshape(x, {countElements(Emitter::shapeOf(x))});
  int64_t dim = call.dim("dim", Emitter::rankOf(x), 0);
  if (Emitter::rankOf(x) == 0) {
    call.fail("repeats along a dimension of a number");
    return {};
  }
  Shape spread(Emitter::shapeOf(x));
  spread.insert(spread.begin() + dim + 1, 1);
  Shape repeated = spread;
  repeated[dim + 1] = times;
  return {emit.reshape(emit.broadcastTo(emit.reshape(x, spread), repeated),
                       call.result().shape)};
}

/// Cuts what a negative amount removes, then pads: pairs (before, after) from
/// the last dimension on.
Values buildPad(OpCall &call, Emitter &emit) {
  if (StringRef mode = call.text("mode", "constant"); mode != "constant") {
    call.fail("pads by '" + mode + "': only 'constant' is supported");
    return {};
  }
  Value x = operandOf(call, emit);
  Shape amounts = call.integers("pad"), shape(Emitter::shapeOf(x));
  int64_t rank = shape.size();
  if (int64_t(amounts.size()) > 2 * rank ||
      llvm::is_contained(amounts, std::numeric_limits<int64_t>::min())) {
    call.fail("pads more dimensions than its tensor has, or by an impossible "
              "amount");
    return {};
  }
  double value = call.number("value", 0);
  Shape begins(rank, 0), sizes = shape, offsets(rank, 0);
  const Shape &to = call.result().shape;
  for (size_t i = 0; i + 1 < amounts.size(); i += 2) {
    int64_t dim = rank - 1 - int64_t(i / 2);
    begins[dim] = std::max<int64_t>(-amounts[i], 0);
    sizes[dim] -= begins[dim] + std::max<int64_t>(-amounts[i + 1], 0);
    offsets[dim] = std::max<int64_t>(amounts[i], 0);
  }
  x = emit.slice(x, begins, sizes);
  Value padded = emit.pad(x, to, offsets);
  if (value == 0 || padded == x)
    return {padded};
  if (!fits(call, to, to))
    return {};
  HostTensor mask(Dtype::boolean, to);
  HostTensor::forEachIndex(to, [&](ArrayRef<int64_t> index) {
    bool isInside = true;
    for (int64_t dim = 0; dim < rank; ++dim)
      isInside &=
          index[dim] >= offsets[dim] && index[dim] < offsets[dim] + sizes[dim];
    mask.set(index, {0, !isInside});
  });
  return {emit.select(emit.constant(mask),
                      emit.number(Emitter::typeOf(x), value), padded)};
}

/// Turns one dimension at a time.
Values buildRoll(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  Shape shape(Emitter::shapeOf(x)), shifts = call.integers("shifts"),
                                    dims = call.integers("dims", Shape());
  if (dims.empty()) {
    x = emit.reshape(x, {countElements(shape)});
    dims.push_back(0);
  }
  if (dims.size() != shifts.size()) {
    call.fail("rolls " + Twine(dims.size()) + " dimensions by " +
              Twine(shifts.size()) + " numbers");
    return {};
  }
  if (llvm::is_contained(Emitter::shapeOf(x), 0) || Emitter::rankOf(x) == 0) {
    call.fail("rolls a number or an empty tensor");
    return {};
  }
  for (auto [shift, named] : zip_equal(shifts, dims)) {
    int64_t dim = call.wrapDim(named, Emitter::rankOf(x)),
            size = Emitter::shapeOf(x)[dim];
    if (shift % size != 0)
      x = emit.make<RollOp>(x.getType(), x,
                            emit.getBuilder().getI64IntegerAttr(shift),
                            emit.getBuilder().getI64IntegerAttr(dim));
  }
  return {emit.reshape(x, shape)};
}

/// The elements from the last to the first.
Values buildFlip(OpCall &call, Emitter &emit) {
  Value x = operandOf(call, emit);
  if (Emitter::rankOf(x) == 0)
    return {x};
  StringRef op = call.getOp();
  Shape dims = op.starts_with("aten.fliplr.")   ? Shape{1}
               : op.starts_with("aten.flipud.") ? Shape{0}
                                                : call.integers("dims");
  for (int64_t named : dims) {
    int64_t dim = call.wrapDim(named, Emitter::rankOf(x)),
            size = Emitter::shapeOf(x)[dim];
    if (!fits(call, {size}, {size}))
      return {};
    HostTensor reversed(Dtype::i64, {size});
    for (int64_t at = 0; at < size; ++at)
      reversed.set({at}, {0, size - 1 - at});
    x = gatherDim(emit, x, dim, {Shape{size}, reversed, nullptr});
  }
  return {x};
}

const OpRow rows[] = {
    {"aten.view.default", buildReshape},
    {"aten.reshape.default", buildReshape},
    {"aten._unsafe_view.default", buildReshape},
    {"aten.view_as.default", buildReshape},
    {"aten.reshape_as.default", buildReshape},
    {"aten.flatten.using_ints", buildReshape},
    {"aten.ravel.default", buildReshape},
    {"aten.atleast_1d.default", buildReshape},
    {"aten.atleast_2d.default", buildReshape},
    {"aten.atleast_3d.default", buildReshape},
    {"aten.unflatten.int", buildReshape},
    {"aten.unsqueeze.default", buildReshape},
    {"aten.squeeze.default", buildReshape},
    {"aten.squeeze.dim", buildReshape},
    {"aten.squeeze.dims", buildReshape},
    {"aten.expand.default", buildExpand},
    {"aten.expand_as.default", buildExpand},
    {"aten.broadcast_to.default", buildExpand},
    {"aten.broadcast_tensors.default", buildBroadcastTensors},
    {"aten.meshgrid.default", buildMeshgrid},
    {"aten.meshgrid.indexing", buildMeshgrid},
    {"aten.permute.default", buildPermute},
    {"aten.transpose.int", buildTranspose},
    {"aten.t.default", buildTranspose},
    {"aten.swapaxes.default", buildTranspose},
    {"aten.mT.default", buildTransposeLast},
    {"aten.numpy_T.default", buildReverse},
    {"aten.movedim.int", buildMoveDim},
    {"aten.movedim.intlist", buildMoveDim},
    {"aten.slice.Tensor", buildSlice},
    {"aten.narrow.default", buildNarrow},
    {"aten.select.int", buildSelect},
    {"aten.split.Tensor", buildSplit},
    {"aten.split.sizes", buildSplit},
    {"aten.split_with_sizes.default", buildSplit},
    {"aten.chunk.default", buildSplit},
    {"aten.tensor_split.sections", buildSplit},
    {"aten.tensor_split.indices", buildSplit},
    {"aten.hsplit.int", buildSplit},
    {"aten.hsplit.array", buildSplit},
    {"aten.vsplit.int", buildSplit},
    {"aten.vsplit.array", buildSplit},
    {"aten.dsplit.int", buildSplit},
    {"aten.dsplit.array", buildSplit},
    {"aten.unbind.int", buildSplit},
    {"aten.cat.default", buildCat},
    {"aten.stack.default", buildCat},
    {"aten.hstack.default", buildStackOf},
    {"aten.vstack.default", buildStackOf},
    {"aten.dstack.default", buildStackOf},
    {"aten.column_stack.default", buildStackOf},
    {"aten.repeat.default", buildRepeat},
    {"aten.tile.default", buildRepeat},
    {"aten.repeat_interleave.self_int", buildRepeatInterleave},
    {"aten.pad.default", buildPad, "modes other than 'constant'"},
    {"aten.constant_pad_nd.default", buildPad},
    {"aten.roll.default", buildRoll},
    {"aten.flip.default", buildFlip},
    {"aten.fliplr.default", buildFlip},
    {"aten.flipud.default", buildFlip},
};

} // namespace

ArrayRef<OpRow> pt2::shapeRows() { return rows; }
