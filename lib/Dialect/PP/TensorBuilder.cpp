//===- TensorBuilder.cpp - Builds formulas on tensors ---------------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::pp;

Value TensorBuilder::scalar(Value like, double value) {
  return make<ConstantOp>(RankedTensorType::get({}, getElementTypeOrSelf(like)),
                          value);
}

Value TensorBuilder::cast(Value x, Type elementType) {
  if (getElementTypeOrSelf(x) == elementType)
    return x;
  if (auto inner = x.getDefiningOp<CastOp>();
      inner && getElementTypeOrSelf(inner.getX()) == elementType &&
      isWideningCast(inner))
    return inner.getX();
  return make<CastOp>(RankedTensorType::get(getShape(x), elementType), x);
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (getShape(x) == shape)
    return x;
  return make<ReshapeOp>(RankedTensorType::get(shape, getElementTypeOrSelf(x)),
                         x);
}

Value TensorBuilder::addUnitDim(Value x) {
  SmallVector<int64_t> shape(getShape(x));
  shape.push_back(1);
  return reshape(x, shape);
}

Value TensorBuilder::reduceRow(ReduceKind kind, Value x) {
  int64_t last = getShape(x).size() - 1;
  return make<ReduceOp>(kind, x, ArrayRef(last), /*keep_dims=*/true);
}

Value TensorBuilder::reduceAll(ReduceKind kind, Value x) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, getShape(x).size()));
  return dims.empty() ? x : make<ReduceOp>(kind, x, dims, /*keep_dims=*/false);
}

Value TensorBuilder::sumTo(Value x, ArrayRef<int64_t> dims,
                           ArrayRef<int64_t> shape) {
  if (dims.empty())
    return reshape(x, shape);
  bool keepDims = shape.size() == getShape(x).size();
  return reshape(make<ReduceOp>(ReduceKind::Sum, x, dims, keepDims), shape);
}
