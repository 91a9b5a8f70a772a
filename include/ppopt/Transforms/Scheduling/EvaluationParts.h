//===- EvaluationParts.h - What an evaluation repeats -----------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_EVALUATIONPARTS_H
#define PPOPT_TRANSFORMS_SCHEDULING_EVALUATIONPARTS_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {

/// What an action of an evaluation schedule is done for.
enum class EvaluationUse {
  Once,     ///< the evaluation: zeroing, collectives
  Prologue, ///< each batch, for sums of inputs over all batches
  Forward   ///< each batch
};

/// Returns the use of each action of an evaluation schedule, in order.
SmallVector<std::pair<Operation *, EvaluationUse>>
getEvaluationUses(ScheduleOp schedule, const StepIndex &index);

/// Splits an evaluation schedule into parts, and returns the first action of
/// each. All batches go through a part before the next one: the sums of inputs,
/// level by level, then the forwards, then the loss. In each part what is done
/// once comes first. Emits an error where an action of the forwards stands
/// apart from the others.
FailureOr<SmallVector<Operation *>> findEvaluationParts(ScheduleOp schedule,
                                                        const StepIndex &index);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_EVALUATIONPARTS_H
