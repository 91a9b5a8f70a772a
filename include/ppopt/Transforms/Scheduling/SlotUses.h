//===- SlotUses.h - Which slots actions read and write ----------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
#define PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// One use of a value in a slot. The role and the microbatch of the action name
/// the value on its place. A transfer of the step may read or write a buffer
/// instead.
struct SlotUse {
  RoleAttr role; ///< null if the value is in a buffer
  Type type;
  int64_t place = 0; ///< the slot's place
  bool isWrite = false;
  unsigned operand = 0; ///< of a run: the number of the operand
  BufferAttr buffer;    ///< null if the value lies in a slot
};

/// Returns whether the value of a use lies in a slot.
inline bool liesInSlot(const SlotUse &use) { return !use.buffer; }

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

  /// Return the uses of both ends of a transfer.
  static SlotUse getRead(TransferOp transfer);
  static SlotUse getWrite(TransferOp transfer);

  /// Return the place of an action. That of a transfer's end follows from the
  /// transfer, whatever schedule the end is in.
  int64_t getPlace(RunOp run) const;
  int64_t getPlace(SendOp send) const;
  int64_t getPlace(RecvOp recv) const;
  static int64_t getPlace(StartOp start);

  /// Returns the operands that runs of the task bind.
  ArrayRef<TaskOperand> getOperands(TaskOp task) const {
    return operands.find(task)->second;
  }
  /// Returns null if the module has no op of that name.
  TaskOp getTask(RunOp run) const {
    return tasks.lookup(run.getTaskAttr().getAttr());
  }
  TransferOp getTransfer(FlatSymbolRefAttr name) const {
    return transfers.lookup(name.getAttr());
  }

private:
  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<StringAttr, TransferOp> transfers;
  DenseMap<Operation *, SmallVector<TaskOperand>> operands; ///< by task
  DenseMap<Operation *, SmallVector<SlotUse, 0>> ofTask;
};

/// The lifetime of a value of one microbatch in a schedule. Positions count the
/// schedule's actions.
struct SlotLifetime {
  RoleAttr role;
  int64_t place = 0;
  int64_t microbatch = 0;
  int64_t bytes = 0; ///< aligned
  int64_t slot = SlotAttr::kUnassigned;
  /// The run that makes it, or the start of its receive.
  unsigned begin = 0;
  /// The last run that reads it, or the wait of its last send.
  unsigned end = 0;
};

/// Returns all lifetimes of a schedule, sorted by begin.
SmallVector<SlotLifetime> findLifetimes(ScheduleOp schedule,
                                        const SlotUses &uses);

/// Returns for each task the roles of the slot values of which it is always the
/// last reader: it may overwrite them. Empty in a module without schedules.
DenseMap<Operation *, DenseSet<Attribute>> findDyingArguments(ModuleOp module);

/// Returns where an action says that the value of a use is; null if it is a run
/// without bindings.
Attribute getBinding(Operation *action, const SlotUse &use);
/// Returns the number of the slot that getBinding returns, or kUnassigned.
int64_t getSlot(Operation *action, const SlotUse &use);
/// Returns the binding of an end of a transfer before slots are assigned.
Attribute makeBinding(const SlotUse &use);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_SLOTUSES_H
