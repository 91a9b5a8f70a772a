//===- SlotChecker.cpp - Checks that slots hold what is read --------------===//

#include "SlotChecker.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a slot of that number exists on the place of the use.
bool SlotChecker::isSlot(int64_t number, const SlotUse &use) {
  return number >= 0 && number < static_cast<int64_t>(slots.size()) &&
         table.schedule.getSlotPlace(number) == use.place;
}

LogicalResult SlotChecker::checkRead(Operation *action, const SlotUse &use,
                                     int64_t microbatch) {
  int64_t number = getSlot(action, use);
  bool isHere = isSlot(number, use);
  const Slot &slot = isHere ? slots[number] : Slot();
  if (!isHere || slot.value != use.role || slot.microbatch != microbatch) {
    InFlightDiagnostic diag = action->emitOpError("reads '")
                              << use.role.getName()
                              << "' from a slot that does not hold it: it was "
                                 "not computed yet, or something else was "
                                 "written there";
    if (slot.writer)
      diag.attachNote(slot.writer->getLoc())
          << "the slot was last written here";
    return diag;
  }
  if (slot.receive) {
    InFlightDiagnostic diag = action->emitOpError("reads '")
                              << use.role.getName()
                              << "' before its receive is waited for";
    diag.attachNote(slot.receive->getLoc()) << "the receive starts here";
    return diag;
  }
  return success();
}

LogicalResult SlotChecker::checkWrite(Operation *action, const SlotUse &use,
                                      int64_t microbatch) {
  int64_t number = getSlot(action, use);
  if (!isSlot(number, use))
    return action->emitOpError("has no slot on place ")
           << use.place << " for '" << use.role.getName() << "'";
  int64_t bytes = table.schedule.getSlots()[number];
  if (getBytes(use.type) > bytes)
    return action->emitOpError("writes the ")
           << getBytes(use.type) << " bytes of '" << use.role.getName()
           << "' to slot " << number << " of " << bytes;
  Slot &slot = slots[number];
  Operation *busy = slot.sends ? slot.send : slot.receive;
  if (busy) {
    InFlightDiagnostic diag = action->emitOpError("writes '")
                              << use.role.getName() << "' to slot " << number
                              << ", which a transfer still uses";
    diag.attachNote(busy->getLoc()) << "this transfer is not waited for";
    return diag;
  }
  slot = {use.role, microbatch, action};
  return success();
}

LogicalResult SlotChecker::check(RunOp run) {
  int64_t microbatch = run.getMicrobatch();
  llvm::SmallDenseSet<int64_t, 8> used;
  // Reads come first.
  for (const SlotUse &use : table.index.uses.of(run)) {
    int64_t slot = getSlot(run, use);
    if (!use.isWrite) {
      if (failed(checkRead(run, use, microbatch)))
        return failure();
      used.insert(slot);
      continue;
    }
    if (used.contains(slot))
      return run.emitOpError("writes '") << use.role.getName() << "' to slot "
                                         << slot << ", which it reads";
    if (failed(checkWrite(run, use, microbatch)))
      return failure();
    // Two results of one run would overwrite each other.
    used.insert(slot);
  }
  return success();
}

LogicalResult SlotChecker::checkSend(SendOp send, const SlotUse &use) {
  if (failed(checkRead(send, use, send.getMicrobatch())))
    return failure();
  Slot &slot = slots[getSlot(send, use)];
  slot.send = send;
  ++slot.sends;
  return success();
}

LogicalResult SlotChecker::checkReceive(RecvOp recv, const SlotUse &use) {
  if (failed(checkWrite(recv, use, recv.getMicrobatch())))
    return failure();
  slots[getSlot(recv, use)].receive = recv;
  return success();
}

void SlotChecker::finish(SendOp send, const SlotUse &use) {
  --slots[getSlot(send, use)].sends;
}

void SlotChecker::finish(RecvOp recv, const SlotUse &use) {
  slots[getSlot(recv, use)].receive = nullptr;
}
