//===- TaskCloner.h - Clones ops into a task on demand ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H

#include "Crossings.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

namespace mlir::pp {

/// Makes values of the entry available in a task: clones ops that the scope
/// says the task computes, and adds arguments for other values.
class TaskCloner {
public:
  TaskCloner(TaskBuilder &task, TaskScope scope, const SharedValues &shared)
      : task(task), scope(std::move(scope)), shared(shared) {}

  /// Returns the value in the task: an argument, an earlier clone, or a new
  /// clone of the op and of the ops that it needs.
  Value get(Value outer);
  /// Clones an op, after the ops that it needs.
  void clone(Operation *op);
  /// Returns the ops that were cloned because their result was needed.
  ArrayRef<Operation *> getOnDemand() const { return onDemand; }
  /// Returns the values that other tasks hand to it, in the order of its
  /// arguments.
  ArrayRef<Value> getTaken() const { return taken; }

private:
  Value getSum(BatchSumOp sum);
  Value getArgument(RoleAttr role, Value value);

  TaskBuilder &task;
  TaskScope scope;
  const SharedValues &shared;
  SmallVector<Operation *> onDemand;
  SmallVector<Value> taken;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H
