//===- PlanOps.cpp - The plan, buckets and the schedule -------------------===//

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::pp;

int64_t PlanOp::getAxisSize(StringRef axis) {
  for (Attribute attr : getMesh())
    if (cast<MeshAxisAttr>(attr).getName() == axis)
      return cast<MeshAxisAttr>(attr).getSize();
  return 1;
}

LogicalResult PlanOp::verify() {
  llvm::StringSet<> names;
  for (Attribute attr : getMesh()) {
    auto axis = cast<MeshAxisAttr>(attr);
    if (axis.getSize() < 1)
      return emitOpError("mesh axis '")
             << axis.getName() << "' has size " << axis.getSize();
    if (!names.insert(axis.getName()).second)
      return emitOpError("names mesh axis '") << axis.getName() << "' twice";
  }
  if (getBatch() < 1 || getMicrobatches() < 1 || getThreads() < 1)
    return emitOpError("batch, microbatches and threads are at least 1");
  if (getBatch() % getBatchTiles() != 0)
    return emitOpError("batch of ")
           << getBatch() << " rows is not divided by dp " << getAxisSize("dp")
           << " x microbatches " << getMicrobatches()
           << "; choose --batch a multiple of " << getBatchTiles();
  return success();
}

LogicalResult BucketOp::verify() {
  if (getParams().size() != getOffsets().size())
    return emitOpError("has ") << getParams().size() << " parameters and "
                               << getOffsets().size() << " offsets";
  if (!llvm::is_sorted(getOffsets()))
    return emitOpError("offsets are not increasing");
  if (!getOffsets().empty() &&
      getOffsets().back() >= static_cast<int64_t>(getElements()))
    return emitOpError("an offset lies beyond its ")
           << getElements() << " elements";
  return success();
}

/// A transfer's end names a transfer.
template <typename OpT>
static LogicalResult verifyTransfer(OpT op, SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<TransferOp>(op, op.getTransferAttr()))
    return op.emitOpError("names ")
           << op.getTransferAttr() << ", which is no transfer";
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols);
}

int64_t StartOp::getGroupSize(PlanOp plan) {
  int64_t ranks = 1;
  for (auto axis : getAxes().getAsRange<StringAttr>())
    ranks *= axis.getValue() == "pp" && getAmong()
                 ? static_cast<int64_t>(getAmong()->size())
                 : plan.getAxisSize(axis.getValue());
  return ranks;
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<TaskOp>(*this, getTaskAttr()))
    return emitOpError("runs ") << getTaskAttr() << ", which is no task";
  return success();
}
