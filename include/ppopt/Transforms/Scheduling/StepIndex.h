//===- StepIndex.h - The tasks and copies of a step -------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_STEPINDEX_H
#define PPOPT_TRANSFORMS_SCHEDULING_STEPINDEX_H

#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// The tasks and copies that the actions of a module's schedules name. Looks up
/// every symbol once: a schedule has many actions of few tasks.
class StepIndex {
public:
  explicit StepIndex(ModuleOp module);

  /// Returns null if the module has no task of that name.
  TaskOp getTask(FlatSymbolRefAttr name) const {
    return tasks.lookup(name.getAttr());
  }
  TaskOp getTask(RunOp run) const { return getTask(run.getTaskAttr()); }
  /// Returns the operands that runs of the task bind.
  ArrayRef<TaskOperand> getOperands(TaskOp task) const {
    return operands.find(task)->second;
  }
  const StepCopies &getCopies() const { return copies; }
  /// Returns the copy that an action makes, or is an end of; null if it is
  /// another action, or the step has none of that id.
  const StepCopy *getCopy(Operation *action) const;

  /// Returns the place of what an action makes or starts.
  int64_t getPlace(Operation *action) const;

private:
  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<Operation *, SmallVector<TaskOperand>> operands; ///< by task
  StepCopies copies;
};

/// Return the id of the copy that an action makes or is an end of, and the
/// microbatch that it is of; nothing if there is none.
std::optional<int64_t> getCopyId(Operation *action);
std::optional<int64_t> getMicrobatch(Operation *action);

/// Checks that the step has the copies that the module's schedules name.
LogicalResult checkCopies(ModuleOp module, const StepIndex &index);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_STEPINDEX_H
