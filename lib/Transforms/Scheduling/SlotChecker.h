//===- SlotChecker.h - Checks that slots hold what is read ------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H

#include "CheckedTable.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

namespace mlir::pp {

/// Checks that every value is in a slot of its place, and still there where it
/// is read; that no slot is written while its value is being sent or received;
/// and that values fit into their slots.
class SlotChecker {
public:
  explicit SlotChecker(CheckedTable table)
      : table(table), slots(table.schedule.getSlots().size()) {}

  /// Checks what an action reads and writes.
  LogicalResult check(Operation *action);
  void finish(WaitOp wait);

private:
  struct Slot {
    Value holder; ///< what is there; null: nothing
    /// Sends and the receive that are not waited for yet.
    SmallVector<Operation *, 1> busy;
  };

  LogicalResult checkRead(Operation *action, Value value, int64_t place);
  LogicalResult checkWrite(Operation *action, Value holder,
                           ArrayRef<Value> read);
  Slot *find(Value value);

  CheckedTable table;
  SmallVector<Slot> slots;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SLOTCHECKER_H
