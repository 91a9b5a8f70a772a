//===- TaskShards.h - Checks of which bucket collectives are ----*- C++ -*-===//

#ifndef PPOPT_LIB_PROGRAM_TASKSHARDS_H
#define PPOPT_LIB_PROGRAM_TASKSHARDS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {

/// Follows chunks of buckets through the ops of a task of a stage, in order. It
/// gathers a chunk of parameters as the bucket that it is of, and adds to a
/// chunk of gradients what the ranks have summed of this bucket. Both may be
/// converted by one launch in between. Checks nothing of other tasks.
class TaskShards {
public:
  /// What an op reads: the argument or temporary, and the ops that have written
  /// these bytes.
  struct Source {
    Value root;
    SmallVector<Operation *, 1> writers;
  };

  explicit TaskShards(TaskOp task) : task(task) {}

  LogicalResult begin(BeginOp op, const Source &x);
  /// A launch or a matmul. `outs`: the arguments or temporaries that it writes.
  LogicalResult compute(Operation *op, ArrayRef<Source> ins,
                        ArrayRef<Value> outs);

private:
  RoleAttr getChunk(Value root, RoleKind kind);
  LogicalResult checkAddition(Operation *op, ArrayRef<Source> ins,
                              RoleAttr role);

  TaskOp task;
  /// The buckets of reduce-scatters, and of the launches that convert a sum.
  DenseMap<Operation *, StringRef> sums;
  /// The parameters that launches read a chunk of.
  DenseMap<Operation *, RoleAttr> chunks;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_TASKSHARDS_H
