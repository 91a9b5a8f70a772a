//===- TaskValues.h - What a task takes, and what it computes ---*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H

#include "BatchSums.h"

#include <functional>

namespace mlir::pp {

/// The values that every task takes as arguments wherever it needs them:
/// inputs, parameters, complete sums over the batch.
class SharedValues {
public:
  SharedValues(func::FuncOp entry, const BatchSums &sums)
      : entry(entry), sums(sums) {}

  /// Null for other values.
  RoleAttr getRole(Value value) const;

private:
  func::FuncOp entry;
  const BatchSums &sums;
};

/// Where a task has its other values from.
struct TaskScope {
  /// The value that is meant where the task is: through places, perhaps copies.
  std::function<Value(Value)> resolve;
  /// Whether the task computes an op's result itself.
  std::function<bool(Value)> isComputed;

  /// Whether another task hands a resolved value on, here or on another place.
  bool isTaken(Value value) const {
    return value.getDefiningOp<CopyOp>() || !isComputed(value);
  }
};

TaskScope getForwardScope(EntryParts &parts, StageParts &stage);
/// Of the task of evaluation's loss. It is made from what the backward is given
/// (`saved`): training saves nothing for it.
TaskScope getLossScope(EntryParts &parts, StageParts &stage,
                       ArrayRef<Value> saved);
/// Of a backward that computes nothing of the forward again.
TaskScope getSavingScope(EntryParts &parts, StageParts &stage);
/// Of a task of the backward that computes all but `taken` of its stage.
TaskScope getBackwardScope(EntryParts &parts, StageParts &stage,
                           ArrayRef<Value> taken);

/// What a task computes and takes.
struct TaskNeeds {
  DenseSet<Value> computed;
  llvm::SetVector<Value> taken;

  /// Adds what the task needs to have `roots`.
  void add(ArrayRef<Value> roots, const TaskScope &scope,
           const SharedValues &shared);
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_TASKVALUES_H
