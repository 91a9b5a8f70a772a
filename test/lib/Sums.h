//===- Sums.h - Sums and gathers of schedules, for mutations --------------===//

#ifndef PPOPT_TEST_LIB_SUMS_H
#define PPOPT_TEST_LIB_SUMS_H

#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// The gather of a bucket's parameters that a place starts in a step, and the
/// waits for it in the next step and in an evaluation.
struct ScheduledGather {
  StartOp start;
  SmallVector<WaitOp, 2> waits;
};

/// Returns those that steps carry over, by place: a local schedule has none.
SmallVector<ScheduledGather> findGathers(ModuleOp module);

void erase(const ScheduledGather &gather);

/// What a sum of a schedule is made of: a start and its wait. Those of all
/// places with launch local.
struct ScheduledSum {
  BufferAttr buffer;
  SmallVector<Operation *, 2> actions;
};

/// In the order of their first starts.
SmallVector<ScheduledSum> findSums(ScheduleOp schedule);

void erase(const ScheduledSum &sum);

/// Moves the sum's actions after `last`, in their order; returns the last one.
Operation *moveAfter(const ScheduledSum &sum, Operation *last);

/// Returns the last run of a task of kind decide; null if there is none.
Operation *findLastDecision(ScheduleOp schedule);

} // namespace mlir::pp

#endif // PPOPT_TEST_LIB_SUMS_H
