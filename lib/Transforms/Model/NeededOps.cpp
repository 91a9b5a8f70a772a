//===- NeededOps.cpp - What values follow from ----------------------------===//

#include "ppopt/Transforms/Model/NeededOps.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

Value pp::getPassedOn(Value value) {
  if (auto mark = value.getDefiningOp<CheckpointOp>())
    return mark.getX();
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<OnOp, PlaceOp>(op))
    return {};
  return op->getRegion(0).front().getTerminator()->getOperand(
      cast<OpResult>(value).getResultNumber());
}

DenseSet<Operation *> pp::findNeededOps(SmallVector<Value> values) {
  DenseSet<Operation *> needed;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && needed.insert(op).second && op->getNumRegions() == 0)
      llvm::append_range(values, op->getOperands());
    if (Value passedOn =
            op && op->getNumRegions() > 0 ? getPassedOn(value) : Value())
      values.push_back(passedOn);
  }
  return needed;
}
