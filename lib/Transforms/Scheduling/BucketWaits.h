//===- BucketWaits.h - Waits for copies of borrowed buckets -----*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_BUCKETWAITS_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_BUCKETWAITS_H

#include "ppopt/Analysis/MemoryUses.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {

/// Moves the waits for the copies of buckets in a place's schedule: each to
/// where its value is read, or before the buffer that it sends is overwritten.
void moveBucketWaits(ScheduleOp schedule, const StepIndex &index,
                     const MemoryUses &uses);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_BUCKETWAITS_H
