//===- SlotUses.h - What actions do with the values in slots --------------===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
#define PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>

namespace mlir::pp {

/// Whether a value of this role lies in a slot: one that is saved or received.
bool liesInSlot(RoleAttr role);

/// One use of a value that lies in a slot; with the microbatch of the action
/// the role names the value on its place. What a transfer once a step reads or
/// writes may be a range of a bucket instead.
struct SlotUse {
  RoleAttr role;
  Type type;
  int64_t place = 0; ///< that the slot is on
  bool isWrite = false;
};

/// What runs and transfers of a module's schedules read and write in slots.
/// Looks every symbol up once: a schedule has many actions of few tasks.
class SlotUses {
public:
  explicit SlotUses(ModuleOp module);

  /// What a task reads, then what it writes.
  ArrayRef<SlotUse> of(RunOp run) const {
    return ofTask.find(getTask(run))->second;
  }
  /// A send reads the saved value, or the bucket, that its transfer names.
  SlotUse of(SendOp send) const;
  /// A receive writes; it does so until it is waited for.
  SlotUse of(RecvOp recv) const;
  /// A copy does both at once: a read, then a write.
  std::array<SlotUse, 2> of(CopyValueOp copy) const;

  /// Null where the module has no op of that name.
  TaskOp getTask(RunOp run) const {
    return tasks.lookup(run.getTaskAttr().getAttr());
  }
  TransferOp getTransfer(FlatSymbolRefAttr name) const {
    return transfers.lookup(name.getAttr());
  }

private:
  static SlotUse getRead(TransferOp transfer);
  static SlotUse getWrite(TransferOp transfer);

  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<StringAttr, TransferOp> transfers;
  DenseMap<Operation *, SmallVector<SlotUse, 0>> ofTask;
};

/// A value of one microbatch in a schedule. Positions count the schedule's
/// actions.
struct SlotLifetime {
  RoleAttr role;
  int64_t place = 0;
  int64_t microbatch = 0;
  int64_t bytes = 0; ///< aligned
  /// The run that makes it, the start of its receive, or its copy.
  unsigned begin = 0;
  /// The last run or copy that reads it, or the wait of its last send.
  unsigned end = 0;
};

/// All of a schedule's, by begin.
SmallVector<SlotLifetime> findLifetimes(ScheduleOp schedule,
                                        const SlotUses &uses);

/// Of each task, the roles of the slots' values that it reads last, whenever
/// it runs: it may write over them. None in a module without schedules.
DenseMap<Operation *, DenseSet<Attribute>> findDyingArguments(ModuleOp module);

/// The slot of a value, as a run, a send, a receive or a copy of it says; -1 if
/// it does not.
int64_t getSlot(Operation *action, RoleAttr role);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
