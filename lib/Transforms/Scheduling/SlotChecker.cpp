//===- SlotChecker.cpp - Checks that slots hold what is read --------------===//

#include "SlotChecker.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the slot of a value; null if it has none.
SlotChecker::Slot *SlotChecker::find(Value value) {
  std::optional<int64_t> number = getSlot(getHolder(value));
  bool isSlot =
      number && *number >= 0 && *number < static_cast<int64_t>(slots.size());
  return isSlot ? &slots[*number] : nullptr;
}

LogicalResult SlotChecker::checkRead(Operation *action, Value value,
                                     int64_t place) {
  Slot *slot = find(value);
  if (slot && slot->holder == getHolder(value) &&
      table.index.step.getPlace(slot->holder.getDefiningOp()) == place)
    return success();
  bool isElsewhere = slot && slot->holder == getHolder(value);
  InFlightDiagnostic diag = action->emitOpError("reads a value ");
  if (isElsewhere)
    diag << "of another place than its own, " << place;
  else
    diag << "from a slot that something else was written to";
  diag.attachNote(value.getLoc()) << "the value is made here";
  if (slot && slot->holder && !isElsewhere)
    diag.attachNote(slot->holder.getLoc()) << "the slot was written here";
  return diag;
}

LogicalResult SlotChecker::checkWrite(Operation *action, Value holder,
                                      ArrayRef<Value> read) {
  int64_t place = table.index.step.getPlace(action);
  Slot *slot = find(holder);
  std::optional<int64_t> number = getSlot(holder);
  if (!slot || table.schedule.getSlotPlace(*number) != place)
    return action->emitOpError("has no slot on place ")
           << place << " for result "
           << cast<OpResult>(holder).getResultNumber();
  int64_t bytes = table.schedule.getSlots()[*number];
  int64_t needed = getBytes(getValueType(holder));
  if (needed > bytes)
    return action->emitOpError("writes ")
           << needed << " bytes to slot " << *number << " of " << bytes;
  if (!slot->busy.empty()) {
    InFlightDiagnostic diag = action->emitOpError("writes to slot ")
                              << *number << ", which a transfer still uses";
    diag.attachNote(slot->busy.back()->getLoc())
        << "this transfer is not waited for";
    return diag;
  }
  // A run reads its operands while it writes its results.
  if (llvm::is_contained(read, slot->holder) ||
      (slot->holder && slot->holder.getDefiningOp() == action))
    return action->emitOpError("writes a result to slot ")
           << *number << ", which it "
           << (slot->holder.getDefiningOp() == action
                   ? "writes another result to"
                   : "reads");
  slot->holder = holder;
  return success();
}

LogicalResult SlotChecker::check(Operation *action) {
  SmallVector<Value> read;
  if (isa<RunOp, SendOp, CopyOp>(action)) {
    int64_t place = isa<CopyOp>(action) ? cast<CopyOp>(action).getFrom()
                                        : table.index.step.getPlace(action);
    for (Value operand : action->getOperands()) {
      if (failed(checkRead(action, operand, place)))
        return failure();
      read.push_back(getHolder(operand));
    }
  }
  for (Value holder : getHolders(action))
    if (failed(checkWrite(action, holder, read)))
      return failure();
  if (auto send = dyn_cast<SendOp>(action); send && send.getValue())
    find(send.getValue())->busy.push_back(send);
  if (auto recv = dyn_cast<RecvOp>(action);
      recv && isa<FutureType>(recv.getStarted().getType()))
    find(recv.getStarted())->busy.push_back(recv);
  return success();
}

void SlotChecker::finish(WaitOp wait) {
  Operation *start = wait.getStarted().getDefiningOp();
  Value value;
  if (auto send = dyn_cast_or_null<SendOp>(start))
    value = send.getValue();
  else if (isa_and_present<RecvOp>(start) && wait.getValue())
    value = wait.getStarted();
  if (value)
    llvm::erase(find(value)->busy, start);
}
