//===- Decompose.cpp - Replaces composite ops -----------------------------===//

#include "ppopt/Transforms/Model/Decompose.h"

using namespace mlir;
using namespace mlir::pp;

static SmallVector<DecomposableOpInterface> findAll(Operation *root,
                                                    DecomposeAt when) {
  SmallVector<DecomposableOpInterface> found;
  root->walk([&](DecomposableOpInterface op) {
    if (op.getDecomposeAt() == when)
      found.push_back(op);
  });
  return found;
}

/// Returns the location with the name of a composite; null if there is none.
static NameLoc getNamed(Operation *op) {
  auto named = dyn_cast<NameLoc>(op->getLoc());
  bool isOp = named && named.getName().strref().starts_with("pp.");
  return isOp ? named : NameLoc();
}

StringRef pp::getModelOpName(Operation *op) {
  NameLoc named = getNamed(op);
  return named ? named.getName().strref() : op->getName().getStringRef();
}

FailureOr<SmallVector<Value>> pp::decompose(DecomposableOpInterface op) {
  if (!getNamed(op))
    op->setLoc(NameLoc::get(op->getName().getIdentifier(), op->getLoc()));
  OpBuilder builder(op);
  SmallVector<Value> values = op.decompose(builder);
  if (TypeRange(ValueRange(values)) != TypeRange(op->getResultTypes()))
    return LogicalResult(
        op->emitOpError("decomposes into values whose types are not those "
                        "of its results"));
  op->replaceAllUsesWith(values);
  op->erase();
  return values;
}

LogicalResult pp::decomposeAll(Operation *root, DecomposeAt when) {
  while (true) {
    SmallVector<DecomposableOpInterface> found = findAll(root, when);
    if (found.empty())
      return success();
    for (DecomposableOpInterface op : found)
      if (failed(decompose(op)))
        return failure();
  }
}
