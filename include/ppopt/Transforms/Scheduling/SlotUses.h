//===- SlotUses.h - Which slots actions read and write ----------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
#define PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>

namespace mlir::pp {

/// Returns whether a value of this role lies in a slot: a saved or received
/// value.
bool liesInSlot(RoleAttr role);

/// One use of a value in a slot. The role and the microbatch of the action name
/// the value on its place. A transfer of the step may read or write a range of
/// a bucket instead.
struct SlotUse {
  RoleAttr role;
  Type type;
  int64_t place = 0; ///< the slot's place
  bool isWrite = false;
};

/// The slots that runs and transfers of a module's schedules read and write.
/// Looks up every symbol once: a schedule has many actions of few tasks.
class SlotUses {
public:
  explicit SlotUses(ModuleOp module);

  /// Returns what a task reads, then what it writes.
  ArrayRef<SlotUse> of(RunOp run) const {
    return ofTask.find(getTask(run))->second;
  }
  /// Returns the read of the saved value, or of the bucket, that the transfer
  /// sends.
  SlotUse of(SendOp send) const;
  /// Returns the write of a receive, which lasts until its wait.
  SlotUse of(RecvOp recv) const;
  /// Returns the read of a copy, then its write.
  std::array<SlotUse, 2> of(CopyValueOp copy) const;

  /// Returns null if the module has no op of that name.
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

/// The lifetime of a value of one microbatch in a schedule. Positions count the
/// schedule's actions.
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

/// Returns all lifetimes of a schedule, sorted by begin.
SmallVector<SlotLifetime> findLifetimes(ScheduleOp schedule,
                                        const SlotUses &uses);

/// Returns for each task the roles of the slot values of which it is always the
/// last reader: it may overwrite them. Empty in a module without schedules.
DenseMap<Operation *, DenseSet<Attribute>> findDyingArguments(ModuleOp module);

/// Returns the slot of a value in a run, a send, a receive or a copy of it; -1
/// if the action does not say.
int64_t getSlot(Operation *action, RoleAttr role);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
