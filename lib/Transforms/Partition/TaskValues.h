//===- TaskValues.h - Values that a task takes and computes -----*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H

#include "BatchSums.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include <functional>

namespace mlir::pp {

/// The values that every task takes as arguments wherever it needs them:
/// inputs, parameters, what is proposed for states, complete sums over the
/// batch.
class SharedValues {
public:
  SharedValues(func::FuncOp entry, const BatchSums &sums)
      : entry(entry), sums(sums) {}

  /// Returns the role of a shared value, null for other values.
  RoleAttr getRole(Value value) const;

private:
  func::FuncOp entry;
  const BatchSums &sums;
};

/// How a task obtains its other values.
struct TaskScope {
  /// Returns the value itself where it is made, looking through places and, for
  /// some tasks, copies.
  std::function<Value(Value)> resolve;
  /// Returns whether the task computes an op's result itself.
  std::function<bool(Value)> isComputed;

  /// Returns whether another task, here or on another place, hands on a
  /// resolved value.
  bool isTaken(Value value) const {
    return value.getDefiningOp<CopyOp>() || !isComputed(value);
  }
};

TaskScope getForwardScope(EntryParts &parts, StageParts &stage);
/// Returns the scope of the task of evaluation's loss. It starts from `saved`,
/// the values that the backward is given: training saves nothing for it.
TaskScope getLossScope(EntryParts &parts, StageParts &stage,
                       ArrayRef<Value> saved);
/// Returns the scope of an evaluation's task, which computes everything of its
/// stage.
TaskScope getEvaluationScope(EntryParts &parts, StageParts &stage);
/// Returns the scope of a backward that computes nothing of the forward again.
TaskScope getSavingScope(EntryParts &parts, StageParts &stage);
/// Returns the scope of a backward task that computes everything of its stage
/// except `taken`.
TaskScope getBackwardScope(EntryParts &parts, StageParts &stage,
                           ArrayRef<Value> taken);

/// The values that a task computes and takes.
struct TaskNeeds {
  DenseSet<Value> computed;
  llvm::SetVector<Value> taken;

  /// Adds the values that the task needs for `roots`.
  void add(ArrayRef<Value> roots, const TaskScope &scope,
           const SharedValues &shared);
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H
