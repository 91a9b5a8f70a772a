//===- SlotChecker.h - Checks that slots hold what is read ------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that every value is read from a slot that holds it, on the place of
/// the reader; that no slot is written while its value is still read or sent,
/// or read while it is being received; and that values fit into their slots.
class SlotChecker {
public:
  explicit SlotChecker(CheckedTable table)
      : table(table), slots(table.schedule.getSlots().size()) {}

  LogicalResult check(RunOp run);
  // Checks a transfer of a value in a slot.
  LogicalResult checkSend(SendOp send, const SlotUse &use);
  LogicalResult checkReceive(RecvOp recv, const SlotUse &use);
  void finish(SendOp send, const SlotUse &use);
  void finish(RecvOp recv, const SlotUse &use);

private:
  /// Slot contents and pending transfers.
  struct Slot {
    Attribute value; ///< the role; null: empty
    int64_t microbatch = 0;
    Operation *writer = nullptr;
    Operation *receive = nullptr; ///< not waited for yet
    Operation *send = nullptr;    ///< the last of `sends`
    unsigned sends = 0;           ///< not waited for yet
  };

  bool isSlot(int64_t number, const SlotUse &use);
  LogicalResult checkRead(Operation *action, const SlotUse &use,
                          int64_t microbatch);
  LogicalResult checkWrite(Operation *action, const SlotUse &use,
                           int64_t microbatch);

  CheckedTable table;
  SmallVector<Slot> slots;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H
