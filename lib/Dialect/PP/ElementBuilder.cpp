//===- ElementBuilder.cpp - Emits scalar code -----------------------------===//

#include "ElementBuilder.h"

using namespace mlir;
using namespace mlir::pp;

Value ElementBuilder::constant(Type type, double value) {
  if (!isa<FloatType>(type))
    return constantInt(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

Value ElementBuilder::linearize(ValueRange index, ArrayRef<int64_t> shape) {
  Value linear;
  int64_t stride = 1;
  for (auto [i, size] : llvm::reverse(llvm::zip(index, shape))) {
    if (size != 1) {
      Value part = scaleIndex(i, stride);
      linear = linear ? addIndex(part, linear) : part;
    }
    stride *= size;
  }
  return linear ? linear : indexConstant(0);
}

SmallVector<Value> ElementBuilder::delinearize(Value linear,
                                               ArrayRef<int64_t> shape) {
  SmallVector<Value> index(shape.size());
  // The dimension that needs no remainder: the first of size > 1.
  const int64_t *first =
      llvm::find_if(shape, [](int64_t size) { return size != 1; });
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 1) {
      index[i] = indexConstant(0);
      continue;
    }
    if (&shape[i] == first) {
      index[i] = linear;
      continue;
    }
    Value size = indexConstant(shape[i]);
    index[i] = make<arith::RemUIOp>(linear, size);
    linear = make<arith::DivUIOp>(linear, size);
  }
  return index;
}
