//===- EvaluateViews.cpp - Views of constants -----------------------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::string pt2::spellShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + itostr(size);
  return text + "]";
}

/// Whether no size is negative and the product of all but the zeros, which is
/// what strides may come to, is at most `most`.
static bool isAtMost(ArrayRef<int64_t> sizes, int64_t most) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    if (size < 0 ||
        MulOverflow(elements, std::max<int64_t>(size, 1), elements) ||
        elements > most)
      return false;
  return true;
}

/// A tensor of more elements, as seen from outside, is none of a model.
constexpr int64_t mostElements = int64_t{1} << 48;
/// Elements and steps that an import has memory and time for.
constexpr int64_t mostWork = int64_t{1} << 28;

bool pt2::fits(OpCall &call, ArrayRef<int64_t> shape,
               ArrayRef<int64_t> distinct) {
  if (!isAtMost(shape, mostElements) || !isAtMost(distinct, mostWork))
    call.fail("makes a constant of the shape " + spellShape(shape) +
              ", which is impossible or too large (2^28 elements) to be "
              "computed at import: pass it as an input");
  return !call.failed();
}

bool pt2::affords(OpCall &call, ArrayRef<int64_t> sizes) {
  if (!isAtMost(sizes, mostWork))
    call.fail("computes a constant in " + spellShape(sizes) +
              " steps, more than 2^28: pass it as an input");
  return !call.failed();
}

DimBits pt2::sameAlong(const HostTensor &tensor) {
  DimBits same;
  for (int64_t stride : tensor.getStrides())
    same.push_back(stride == 0);
  return same;
}

Shape pt2::distinctShape(ArrayRef<int64_t> shape, const DimBits &same) {
  Shape distinct(shape);
  for (auto [size, bit] : zip_equal(distinct, same))
    if (bit && size > 1)
      size = 1;
  return distinct;
}

//===----------------------------------------------------------------------===//
// Broadcasting and reshaping
//===----------------------------------------------------------------------===//

Shape pt2::broadcastShape(OpCall &call, ArrayRef<Shape> shapes) {
  Shape result;
  for (const Shape &shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    size_t added = result.size() - shape.size();
    for (auto [dim, size] : enumerate(shape)) {
      int64_t &other = result[added + dim];
      if (size != 1 && other != 1 && size != other)
        call.fail("broadcasts " + spellShape(shape) + " with " +
                  spellShape(result));
      if (size != 1)
        other = size;
    }
  }
  return result;
}

HostTensor pt2::broadcast(OpCall &call, const HostTensor &tensor,
                          ArrayRef<int64_t> shape) {
  bool isPossible = tensor.getRank() <= int64_t(shape.size());
  if (isPossible)
    for (auto [from, to] :
         zip_equal(tensor.getShape(), shape.take_back(tensor.getRank())))
      isPossible &= from == to || from == 1;
  if (!isPossible)
    call.fail("expands " + spellShape(tensor.getShape()) + " to " +
              spellShape(shape));
  if (call.failed() || !fits(call, shape, {}))
    return tensor;
  return tensor.broadcastTo(shape);
}

/// The strides of a view of the tensor's elements in row-major order; null if
/// no view has them. Dimensions are taken from the end, in groups that one
/// stride spans.
static std::optional<Shape> viewStrides(const HostTensor &tensor,
                                        ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> sizes = tensor.getShape(), old = tensor.getStrides();
  Shape strides(shape.size(), 0);
  int64_t next = int64_t(shape.size()) - 1;
  int64_t group = 1, stride = old.empty() ? 0 : old.back();
  for (int64_t dim = tensor.getRank() - 1; dim >= 0; --dim) {
    if (group == 1)
      stride = old[dim];
    group *= sizes[dim];
    bool goesOn = dim > 0 && (sizes[dim - 1] == 1 || group == 1 ||
                              old[dim - 1] == group * stride);
    if (goesOn)
      continue;
    int64_t covered = 1;
    while (next >= 0 && (covered < group || shape[next] == 1)) {
      strides[next] = covered * stride;
      covered *= shape[next--];
    }
    if (covered != group)
      return std::nullopt;
    group = 1;
  }
  return strides;
}

HostTensor pt2::reshape(OpCall &call, const HostTensor &tensor, Shape shape) {
  int64_t known = 1, elements = tensor.getElements();
  int64_t *open = nullptr;
  bool isPossible = true;
  for (int64_t &size : shape) {
    if (size == -1 && !open)
      open = &size;
    else
      isPossible &= size >= 0 && !MulOverflow(known, size, known);
  }
  if (open && isPossible && known > 0)
    *open = elements / known;
  if (!isPossible || (open && known == 0) ||
      (open ? *open * known : known) != elements)
    call.fail("reshapes " + spellShape(tensor.getShape()) + " to " +
              spellShape(shape));
  if (call.failed())
    return tensor;
  if (elements == 0)
    return HostTensor(tensor.getType(), shape);
  if (std::optional<Shape> strides = viewStrides(tensor, shape))
    return tensor.view(shape, *strides);
  if (!fits(call, tensor.getShape(), tensor.getShape()))
    return tensor;
  return tensor.reshape(shape);
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

HostTensor pt2::permute(const HostTensor &tensor, ArrayRef<int64_t> dims) {
  Shape shape, strides;
  for (int64_t dim : dims) {
    shape.push_back(tensor.getShape()[dim]);
    strides.push_back(tensor.getStrides()[dim]);
  }
  return tensor.view(shape, strides);
}

HostTensor pt2::atLeastOneDim(const HostTensor &tensor) {
  return tensor.getRank() ? tensor : insertDim(tensor, 0);
}

HostTensor pt2::insertDim(const HostTensor &tensor, int64_t dim) {
  Shape shape(tensor.getShape()), strides(tensor.getStrides());
  shape.insert(shape.begin() + dim, 1);
  strides.insert(strides.begin() + dim, 0);
  return tensor.view(shape, strides);
}

HostTensor pt2::removeDim(const HostTensor &tensor, int64_t dim,
                          int64_t index) {
  Shape shape(tensor.getShape()), strides(tensor.getStrides());
  int64_t offset = index * strides[dim];
  shape.erase(shape.begin() + dim);
  strides.erase(strides.begin() + dim);
  return tensor.view(shape, strides, offset);
}

HostTensor pt2::sliceDim(const HostTensor &tensor, int64_t dim, int64_t start,
                         int64_t size, int64_t step) {
  Shape shape(tensor.getShape()), strides(tensor.getStrides());
  int64_t offset = start * strides[dim];
  shape[dim] = size;
  // The step of one element has no meaning, and may be huge.
  if (size > 1)
    strides[dim] *= step;
  return tensor.view(shape, strides, offset);
}
