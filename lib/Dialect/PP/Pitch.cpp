//===- Pitch.cpp - Buffers with padded rows -------------------------------===//

#include "ppopt/Dialect/PP/Pitch.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the dimension of the columns; -1 if all are 1.
static int64_t findColumns(ArrayRef<int64_t> shape) {
  int64_t dim = static_cast<int64_t>(shape.size()) - 1;
  while (dim >= 0 && shape[dim] == 1)
    --dim;
  return dim;
}

int64_t pp::getColumnCount(ArrayRef<int64_t> shape) {
  int64_t dim = findColumns(shape);
  return dim < 0 ? 1 : shape[dim];
}

int64_t pp::getRowCount(ArrayRef<int64_t> shape) {
  int64_t dim = findColumns(shape);
  return dim < 0 ? 1 : ShapedType::getNumElements(shape.take_front(dim));
}

SmallVector<int64_t> pp::getStrides(ArrayRef<int64_t> shape, Pitch pitch) {
  SmallVector<int64_t> strides(shape.size());
  int64_t columns = findColumns(shape), stride = 1;
  for (int64_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= dim == columns ? pitch.value_or(shape[dim]) : shape[dim];
  }
  return strides;
}

Pitch pp::getPitch(MemRefType type) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t dim = findColumns(shape) - 1;
  while (dim >= 0 && shape[dim] == 1)
    --dim;
  if (dim < 0 || type.getLayout().isIdentity())
    return std::nullopt;
  int64_t stride = type.getStridesAndOffset().first[dim];
  return stride == getColumnCount(shape) ? std::nullopt : Pitch(stride);
}

MemRefType pp::getBufferType(RankedTensorType tensor, Pitch pitch) {
  auto dense = MemRefType::get(tensor.getShape(), tensor.getElementType());
  if (!pitch)
    return dense;
  return MemRefType::get(
      tensor.getShape(), tensor.getElementType(),
      StridedLayoutAttr::get(tensor.getContext(), /*offset=*/0,
                             getStrides(tensor.getShape(), pitch)));
}

int64_t pp::countWithPadding(ArrayRef<int64_t> shape, Pitch pitch) {
  return pitch ? getRowCount(shape) * *pitch
               : ShapedType::getNumElements(shape);
}

int64_t pp::countToLast(ArrayRef<int64_t> shape, Pitch pitch) {
  return pitch ? (getRowCount(shape) - 1) * *pitch + getColumnCount(shape)
               : ShapedType::getNumElements(shape);
}
