//===- TaskCloner.h - Clones into a task what it needs ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H

#include "Crossings.h"

#include "ppopt/Transforms/Partition/TaskBuilder.h"

namespace mlir::pp {

/// Makes values of the entry available in a task: by clones of ops, as far as
/// its scope says that it computes them, and by arguments.
class TaskCloner {
public:
  TaskCloner(TaskBuilder &task, TaskScope scope, const SharedValues &shared,
             const Crossings &crossings)
      : task(task), scope(std::move(scope)), shared(shared),
        crossings(crossings) {}

  /// The value in the task: an argument, a clone made before, or a clone made
  /// now of the op and what it needs.
  Value get(Value outer);
  /// Clones an op, after what it needs.
  void clone(Operation *op);
  /// The ops that were cloned because something needs their result.
  ArrayRef<Operation *> getOnDemand() const { return onDemand; }

private:
  Value getSum(BatchSumOp sum);
  Value getArgument(RoleAttr role, Value value);

  TaskBuilder &task;
  TaskScope scope;
  const SharedValues &shared;
  const Crossings &crossings;
  SmallVector<Operation *> onDemand;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_TASKCLONER_H
