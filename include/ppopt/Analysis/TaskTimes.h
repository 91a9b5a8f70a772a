//===- TaskTimes.h - Estimated times of tasks -------------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_TASKTIMES_H
#define PPOPT_ANALYSIS_TASKTIMES_H

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Links.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace mlir::pp {

/// A collective inside a task. Times are in nanoseconds from the beginning of a
/// run.
struct CollectiveTime {
  TaskCollectiveAttr collective;
  double start = 0, end = 0;         ///< it is in flight
  double waitStart = 0, waitEnd = 0; ///< the task waits for it
};

struct TaskTime {
  /// Of a run in nanoseconds: what it computes, and its waits.
  double total = 0;
  SmallVector<CollectiveTime> collectives; ///< in the order of their starts
};

/// The times of a module's tasks on its device: an analysis, which the passes
/// of phase scheduled hand on, since none of them changes a task.
class TaskTimes {
public:
  explicit TaskTimes(ModuleOp module);
  explicit TaskTimes(Operation *module) : TaskTimes(cast<ModuleOp>(module)) {}

  /// Returns the time of one run: the sum over its ops, or over its launches
  /// and matmuls in phase kernels. Its collectives are in flight meanwhile,
  /// those of one channel one after the other; all ranks of a group start them
  /// at the same time. Before pp-place-collectives has decided where they
  /// start, a gather is taken to start when the one before it has been waited
  /// for (with `--prefetch none`, before its first reader), a sum where it
  /// stands. A task is estimated once: it may not change meanwhile.
  const TaskTime &estimate(TaskOp task) const;

  /// As pp::isOfBucket, without a look-up of a symbol in the module.
  bool isOfBucket(TaskCollectiveAttr collective) const {
    return buckets.contains(collective.getWhat());
  }

  const Links &getLinks() const { return links; }

private:
  TaskTime estimateNew(TaskOp task) const;

  Device device;
  Links links;
  bool prefetches = true;
  DenseMap<StringAttr, double> ofKernel;
  llvm::StringSet<> buckets; ///< their names
  mutable OpTimes ofOps;
  mutable std::map<Operation *, TaskTime> known; ///< by task
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_TASKTIMES_H
