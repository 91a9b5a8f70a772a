//===- Views.cpp - The elements that views show ---------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

bool ReshapeOp::keepsOrder() { return true; }

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

std::optional<Layout> ReshapeOp::getResultLayout(const Layout &operand) {
  return reshapeLayout(operand, getShape(getResult()));
}

std::optional<Layout> ReshapeOp::getOperandLayout(const Layout &result) {
  return reshapeLayout(result, getShape(getX()));
}

bool ReshapeOp::hasInverse() { return true; }

Value ReshapeOp::buildInverse(OpBuilder &builder, Value result) {
  return ReshapeOp::create(builder, getLoc(), getX().getType(), result);
}

static bool isFull(const ElementBox &box, ArrayRef<int64_t> shape,
                   size_t firstDim, size_t lastDim) {
  for (size_t dim = firstDim; dim < lastDim; ++dim)
    if (box.begin[dim] != 0 || box.end[dim] != shape[dim])
      return false;
  return true;
}

/// Handles each run of dimensions with equally many elements in both shapes
/// separately: runs that are read in full, and single dimensions. A part of
/// dimensions that merge or split is no box.
std::optional<ElementBox> ReshapeOp::getOperandBox(const ElementBox &box) {
  ArrayRef<int64_t> to = getShape(getResult()), from = getShape(getX());
  ElementBox source{getX(), {}, {}};
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    size_t firstTo = i, firstFrom = j;
    int64_t toCount = i < to.size() ? to[i++] : 1;
    int64_t fromCount = j < from.size() ? from[j++] : 1;
    while (toCount != fromCount) {
      if (toCount < fromCount)
        toCount *= to[i++];
      else
        fromCount *= from[j++];
    }
    bool isOne = i - firstTo == 1 && j - firstFrom == 1;
    if (!isOne && !isFull(box, to, firstTo, i))
      return std::nullopt;
    for (size_t dim = firstFrom; dim < j; ++dim) {
      source.begin.push_back(isOne ? box.begin[firstTo] : 0);
      source.end.push_back(isOne ? box.end[firstTo] : from[dim]);
    }
  }
  return source;
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static Layout transposeLayout(const Layout &from, ArrayRef<int64_t> perm) {
  return {from.base, applyPermutation(from.sizes, perm),
          applyPermutation(from.strides, perm), from.offset};
}

std::optional<Layout> TransposeOp::getResultLayout(const Layout &operand) {
  return transposeLayout(operand, getPerm());
}

std::optional<Layout> TransposeOp::getOperandLayout(const Layout &result) {
  return transposeLayout(result, invertPermutationVector(getPerm()));
}

std::optional<ElementBox> TransposeOp::getOperandBox(const ElementBox &box) {
  SmallVector<int64_t> inverse = invertPermutationVector(getPerm());
  return ElementBox{getX(), applyPermutation(box.begin, inverse),
                    applyPermutation(box.end, inverse)};
}

bool TransposeOp::hasInverse() { return true; }

Value TransposeOp::buildInverse(OpBuilder &builder, Value result) {
  return TransposeOp::create(builder, getLoc(), result,
                             invertPermutationVector(getPerm()));
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

std::optional<Layout> SliceOp::getResultLayout(const Layout &operand) {
  Layout layout = operand;
  for (auto [offset, stride] : llvm::zip(getOffsets(), layout.strides))
    layout.offset += offset * stride;
  layout.sizes = llvm::to_vector(getShape(getResult()));
  return layout;
}

std::optional<ElementBox> SliceOp::getOperandBox(const ElementBox &box) {
  ElementBox source{getX(), box.begin, box.end};
  for (auto [i, offset] : llvm::enumerate(getOffsets())) {
    source.begin[i] += offset;
    source.end[i] += offset;
  }
  return source;
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

std::optional<Layout> BroadcastOp::getResultLayout(const Layout &operand) {
  ArrayRef<int64_t> shape = getShape(getResult());
  Layout layout{operand.base, llvm::to_vector(shape),
                SmallVector<int64_t>(shape.size(), 0), operand.offset};
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (operand.sizes[i] != 1)
      layout.strides[dim] = operand.strides[i];
  return layout;
}

std::optional<ElementBox> BroadcastOp::getOperandBox(const ElementBox &box) {
  ElementBox source{getX(), {}, {}};
  for (auto [dim, size] : llvm::zip(getDims(), getShape(getX()))) {
    source.begin.push_back(size == 1 ? 0 : box.begin[dim]);
    source.end.push_back(size == 1 ? 1 : box.end[dim]);
  }
  return source;
}
