//===- ViewFolding.cpp - Views as strides of matmuls ----------------------===//

#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/Target.h"

#include "ppopt/Analysis/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

bool pp::isView(Operation *op) {
  return isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp, BroadcastOp>(op);
}

/// Returns whether all dimensions before `dim` are 1.
static bool isLeading(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.take_front(dim),
                      [](int64_t size) { return size == 1; });
}

std::optional<int64_t> pp::getContiguousOffset(SliceOp op) {
  ArrayRef<int64_t> from = getShape(op.getX()), to = getShape(op.getResult());
  // After the first dimension that is sliced all are whole.
  int64_t offset = 0;
  SmallVector<int64_t> strides = computeStrides(from);
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (to[dim] != size && !isLeading(to, dim))
      return std::nullopt;
    offset += op.getOffsets()[dim] * strides[dim];
  }
  return offset;
}

std::optional<SmallVector<int64_t>> pp::getContiguousOffsets(ConcatOp op) {
  int64_t dim = op.getDim();
  if (!isLeading(getShape(op.getResult()), dim))
    return std::nullopt;
  SmallVector<int64_t> offsets;
  int64_t next = 0;
  for (Value input : op.getInputs()) {
    offsets.push_back(next);
    next += computeProduct(getShape(input));
  }
  return offsets;
}

/// Returns the layout of a value that has memory of its own.
static Layout getLayout(Value value) {
  ArrayRef<int64_t> shape = getShape(value);
  return {value, llvm::to_vector(shape), getStrides(shape, getPitch(value)), 0};
}

/// Returns the layout under another shape: each run of dimensions with equally
/// many elements in both shapes is merged and split again. Merged dimensions
/// must have strides that follow from one another.
static std::optional<Layout> reshapeLayout(const Layout &from,
                                           ArrayRef<int64_t> shape) {
  Layout to{from.base, llvm::to_vector(shape),
            SmallVector<int64_t>(shape.size(), 1), from.offset};
  // Sizes of 1 may have any stride.
  SmallVector<int64_t> sizes, strides;
  for (auto [size, stride] : llvm::zip(from.sizes, from.strides))
    if (size != 1) {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  unsigned i = 0, j = 0;
  while (i < sizes.size()) {
    unsigned iEnd = i + 1, jEnd = j;
    int64_t count = sizes[i], newCount = 1;
    while (newCount != count) {
      if (newCount < count)
        newCount *= shape[jEnd++];
      else
        count *= sizes[iEnd++];
    }
    for (unsigned d = i; d + 1 < iEnd; ++d)
      if (strides[d] != strides[d + 1] * sizes[d + 1])
        return std::nullopt;
    int64_t stride = strides[iEnd - 1];
    for (unsigned d = jEnd; d-- > j;) {
      to.strides[d] = stride;
      stride *= shape[d];
    }
    i = iEnd;
    j = jEnd;
  }
  return to;
}

static Layout transposeLayout(const Layout &from, ArrayRef<int64_t> perm) {
  return {from.base, applyPermutation(from.sizes, perm),
          applyPermutation(from.strides, perm), from.offset};
}

static Layout sliceLayout(Layout layout, ArrayRef<int64_t> offsets,
                          ArrayRef<int64_t> shape) {
  for (auto [offset, stride] : llvm::zip(offsets, layout.strides))
    layout.offset += offset * stride;
  layout.sizes = llvm::to_vector(shape);
  return layout;
}

static Layout broadcastLayout(const Layout &from, ArrayRef<int64_t> dims,
                              ArrayRef<int64_t> shape) {
  Layout to{from.base, llvm::to_vector(shape),
            SmallVector<int64_t>(shape.size(), 0), from.offset};
  for (auto [i, dim] : llvm::enumerate(dims))
    if (from.sizes[i] != 1)
      to.strides[dim] = from.strides[i];
  return to;
}

std::optional<Layout>
pp::foldViews(Value value, llvm::function_ref<bool(Operation *)> isBase) {
  Operation *op = value.getDefiningOp();
  if (!isView(op) || isBase(op))
    return getLayout(value);
  std::optional<Layout> from = foldViews(op->getOperand(0), isBase);
  if (!from)
    return std::nullopt;
  ArrayRef<int64_t> shape = getShape(value);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transposeLayout(*from, transpose.getPerm());
  if (auto slice = dyn_cast<SliceOp>(op))
    return sliceLayout(*from, slice.getOffsets(), shape);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return broadcastLayout(*from, broadcast.getDims(), shape);
  return reshapeLayout(*from, shape);
}

std::optional<Layout>
pp::foldDestination(Value value,
                    llvm::function_ref<bool(Operation *)> isJoined) {
  if (!value.hasOneUse() || !isJoined(*value.user_begin()))
    return getLayout(value);
  Operation *op = *value.user_begin();
  std::optional<Layout> to = foldDestination(op->getResult(0), isJoined);
  if (!to)
    return std::nullopt;
  ArrayRef<int64_t> shape = getShape(value);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transposeLayout(*to, invertPermutationVector(transpose.getPerm()));
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat)
    return reshapeLayout(*to, shape);
  SmallVector<int64_t> offsets(shape.size(), 0);
  for (Value input : concat.getInputs()) {
    if (input == value)
      break;
    offsets[concat.getDim()] += getShape(input)[concat.getDim()];
  }
  return sliceLayout(*to, offsets, shape);
}

namespace {
/// A loop over batches: the stride of each operand.
struct BatchLoop {
  int64_t size, a, b, c;
};
} // namespace

/// Merges neighbours if all three operands allow it, and the last into the rows
/// if B does not move.
static void mergeBatchLoops(SmallVectorImpl<BatchLoop> &loops,
                            MatmulShape &shape) {
  llvm::erase_if(loops, [](const BatchLoop &loop) { return loop.size == 1; });
  while (!loops.empty()) {
    const BatchLoop &last = loops.back();
    if (shape.m == 1 && last.b == 0) {
      shape.aStrides[2] = last.a;
      shape.cStrides[2] = last.c;
    }
    if (last.b != 0 || last.a != shape.m * shape.aStrides[2] ||
        last.c != shape.m * shape.cStrides[2])
      break;
    shape.m *= last.size;
    loops.pop_back();
  }
  for (size_t i = loops.size(); i-- > 1;) {
    BatchLoop &outer = loops[i - 1], inner = loops[i];
    if (outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
        outer.c == inner.c * inner.size) {
      outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
      loops.erase(loops.begin() + i);
    }
  }
}

std::optional<MatmulShape>
pp::foldMatmul(MatmulOp op, llvm::function_ref<bool(Operation *)> isBase,
               Value &failed) {
  std::optional<Layout> a = foldViews(op.getLhs(), isBase);
  std::optional<Layout> b = foldViews(op.getRhs(), isBase);
  if (!a || !b) {
    failed = a ? op.getRhs() : op.getLhs();
    return std::nullopt;
  }
  unsigned rank = a->sizes.size(), bRank = b->sizes.size();
  bool aFlag = op.getTransposeLhs(), bFlag = op.getTransposeRhs();
  unsigned aRow = rank - (aFlag ? 1 : 2), aCol = rank - (aFlag ? 2 : 1);
  unsigned bRow = bRank - (bFlag ? 1 : 2), bCol = bRank - (bFlag ? 2 : 1);
  SmallVector<int64_t> cStrides =
      getStrides(getShape(op.getResult()), getPitch(op.getResult()));

  MatmulShape shape;
  shape.m = a->sizes[aRow];
  shape.n = b->sizes[bCol];
  shape.k = a->sizes[aCol];
  shape.aStrides = {0, 0, a->strides[aRow], a->strides[aCol]};
  shape.bStrides = {0, 0, b->strides[bRow], b->strides[bCol]};
  shape.cStrides = {0, 0, cStrides[rank - 2], cStrides[rank - 1]};
  SmallVector<BatchLoop> loops;
  for (unsigned i = 0; i + 2 < rank; ++i)
    loops.push_back({a->sizes[i], a->strides[i], bRank > 2 ? b->strides[i] : 0,
                     cStrides[i]});
  mergeBatchLoops(loops, shape);
  if (loops.size() > 2) {
    // One of them is not contiguous: contiguous operands merge.
    failed = isView(op.getLhs().getDefiningOp()) &&
                     !isBase(op.getLhs().getDefiningOp())
                 ? op.getLhs()
                 : op.getRhs();
    return std::nullopt;
  }
  for (unsigned i = 0; i < loops.size(); ++i) {
    unsigned at = 2 - loops.size() + i;
    shape.batch[at] = loops[i].size;
    shape.aStrides[at] = loops[i].a;
    shape.bStrides[at] = loops[i].b;
    shape.cStrides[at] = loops[i].c;
  }
  shape.a = std::move(*a);
  shape.b = std::move(*b);
  return shape;
}

bool pp::canAccumulate(MatmulOp op, Type element, const Target &target) {
  ::ppopt::MatmulDescriptor matmul;
  matmul.type = getMatmulType(getElementTypeOrSelf(op.getLhs()));
  matmul.cType = getMatmulType(element);
  matmul.accumulate = true;
  return target.checkMatmul(matmul).empty();
}

AccumulateOp pp::getAccumulation(MatmulOp op, const Target &target) {
  Operation *last = op;
  while (last->hasOneUse()) {
    Operation *user = *last->user_begin();
    if (auto accumulate = dyn_cast<AccumulateOp>(user)) {
      bool isFused =
          accumulate.getValue() == last->getResult(0) &&
          canAccumulate(op, getElementTypeOrSelf(accumulate.getResult()),
                        target);
      return isFused ? accumulate : nullptr;
    }
    if (!isa<ReshapeOp>(user) && !isWideningCast(user))
      return nullptr;
    last = user;
  }
  return nullptr;
}
