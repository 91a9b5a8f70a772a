//===- PlanOps.cpp - The plan, buckets and the schedule -------------------===//

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::pp;

int64_t PlanOp::getAxisSize(StringRef axis) {
  for (Attribute attr : getMesh())
    if (cast<MeshAxisAttr>(attr).getName() == axis)
      return cast<MeshAxisAttr>(attr).getSize();
  return 1;
}

static LogicalResult verifyWord(PlanOp plan, StringRef name, StringRef word,
                                ArrayRef<StringRef> words) {
  if (llvm::is_contained(words, word))
    return success();
  return plan.emitOpError(name)
         << " is '" << word << "', not one of " << llvm::join(words, ", ");
}

static LogicalResult verifyWords(PlanOp plan) {
  return success(
      succeeded(verifyWord(plan, "tied", plan.getTied(), {"sum", "owner"})) &&
      succeeded(verifyWord(plan, "recompute", plan.getRecompute(),
                           {"none", "cheap", "layer"})) &&
      succeeded(verifyWord(plan, "precision", plan.getPrecision(),
                           {"model", "bf16"})));
}

/// A local launch runs one copy of each place.
static LogicalResult verifyLaunch(PlanOp plan) {
  StringRef launch = plan.getLaunch();
  if (launch != "ranks" && launch != "local")
    return plan.emitOpError("launch is '")
           << launch << "', not one of ranks, local";
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>())
    if (launch == "local" && axis.getName() != "pp" && axis.getSize() > 1)
      return plan.emitOpError("--launch local runs all places in one process, "
                              "each of them once, and the mesh has ")
             << axis.getName() << "=" << axis.getSize() << "; leave "
             << axis.getName() << " out of --mesh";
  return success();
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
  return success(succeeded(verifyLaunch(*this)) &&
                 succeeded(verifyWords(*this)));
}

LogicalResult BucketOp::verify() {
  if (getParams().size() != getOffsets().size())
    return emitOpError("has ") << getParams().size() << " parameters and "
                               << getOffsets().size() << " offsets";
  if (!llvm::is_sorted(getOffsets()))
    return emitOpError("offsets are not increasing");
  if (getBorrowed() && getPlaces().size() < 2)
    return emitOpError("is borrowed, and no place but its owner holds it");
  if (!getOffsets().empty() && getOffsets().back() >= getElements())
    return emitOpError("an offset is beyond its ")
           << getElements() << " elements";
  return success();
}

/// Actions between ranks belong to schedules of places, actions between places
/// to a local schedule.
LogicalResult ScheduleOp::verify() {
  for (Operation &action : getBody().front()) {
    bool isOfRanks = isa<StartOp, SendOp, RecvOp, WaitOp>(action);
    if (isLocal() && isOfRanks)
      return action.emitOpError("starts or waits for something in a local "
                                "schedule, which runs in one process");
    if (!isLocal() && isa<CopyValueOp, SumPlacesOp>(action))
      return action.emitOpError(
          "accesses another place in the schedule of one");
  }
  if (isLocal() != getSlotPlaces().has_value())
    return emitOpError("must have slot_places if it is local, and only then");
  if (isLocal() && getSlotPlaces()->size() != getSlots().size())
    return emitOpError("has ") << getSlots().size() << " slots, and "
                               << getSlotPlaces()->size() << " slot_places";
  return success();
}

/// Verifies that the ends of a transfer name a transfer.
template <typename OpT>
static LogicalResult verifyTransfer(OpT op, SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<TransferOp>(op, op.getTransferAttr()))
    return op.emitOpError("names ")
           << op.getTransferAttr() << ", which is not a transfer";
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols);
}

LogicalResult CopyValueOp::verifySymbolUses(SymbolTableCollection &symbols) {
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
  auto task = symbols.lookupNearestSymbolFrom<TaskOp>(*this, getTaskAttr());
  if (!task)
    return emitOpError("runs ") << getTaskAttr() << ", which is not a task";
  // A task that lacks a role is an error of its own.
  if (getBindings() && getBindings()->size() != task.getNumBoundOperands())
    return emitOpError("binds ")
           << getBindings()->size() << " operands, and " << getTaskAttr()
           << " has " << task.getNumBoundOperands();
  return success();
}
