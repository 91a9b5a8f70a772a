//===- Folders.cpp - Folding of constants and of shape ops ----------------===//

#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

void ConstantOp::build(OpBuilder &builder, OperationState &state,
                       RankedTensorType type, double splat) {
  Type element = type.getElementType();
  Attribute value;
  if (auto floatType = dyn_cast<FloatType>(element))
    value = FloatAttr::get(floatType, splat);
  else
    value = IntegerAttr::get(element, static_cast<int64_t>(splat));
  build(builder, state, DenseElementsAttr::get(type, value));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

/// Folds to the operand if the shape is the same, a reshape of a constant to a
/// constant, and a reshape of a reshape to one.
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX()))
    return value.reshape(getType());
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

/// Folds to the operand if no dimension moves, a transpose of a splat to a
/// splat, and a transpose of a transpose to one.
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> perm = getPerm();
  if (llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())))
    return getX();
  if (auto value = dyn_cast_or_null<SplatElementsAttr>(adaptor.getX()))
    return value.resizeSplat(getType());
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> joined;
    for (int64_t dim : perm)
      joined.push_back(inner.getPerm()[dim]);
    setPerm(joined);
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}
