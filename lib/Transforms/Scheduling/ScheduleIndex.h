//===- ScheduleIndex.h - Symbols used by the checks of all tables ---------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H

#include "ppopt/Analysis/MemoryUses.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

#include "llvm/ADT/MapVector.h"

#include <array>

namespace mlir::pp {

/// The schedules of a module, by what they are of; one per place each, or none.
struct ScheduleLists {
  explicit ScheduleLists(ModuleOp module);

  std::array<ArrayRef<ScheduleOp>, 3> all() const {
    return {training, evaluation, average};
  }

  SmallVector<ScheduleOp> training, evaluation, average;
};

/// Looks up each symbol once.
struct ScheduleIndex {
  ScheduleIndex(ModuleOp module, PlanOp plan);

  PlanOp plan;
  ppopt::geometry::Mesh mesh;
  int64_t microbatches, places, batchParts;
  StepIndex step;
  StepOp stepOp;
  BufferIndex buffers;
  MemoryUses uses;
  SmallVector<BucketOp> buckets;

  /// Returns the start that a step of the place leaves in flight as the token
  /// that a schedule takes; null if it leaves none.
  StartOp getCarried(BlockArgument token) const;
  unsigned countCarried(int64_t place) const;
  /// Returns the number of ranks along axes of the model that have a part each
  /// of what tasks add to a buffer.
  int64_t countModelParts(BufferAttr buffer) const {
    return modelParts.lookup_or(buffer, 1);
  }

private:
  /// The schedules of training, by place.
  DenseMap<int64_t, ScheduleOp> training;
  DenseMap<BufferAttr, int64_t> modelParts;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
