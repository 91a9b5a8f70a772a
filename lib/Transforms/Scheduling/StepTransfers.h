//===- StepTransfers.h - What places borrow from each other ---------------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H

#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {

/// Inserts into the schedule of a place its ends of the transfers that are made
/// once a step. All start together, in the order of the module: those of
/// parameters behind the check of the counts, before all of microbatches; those
/// of gradients behind the last run of a stage. They are waited for where what
/// they bring is read, and before what they send is overwritten.
void insertStepTransfers(ScheduleOp schedule, const SlotUses &uses);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H
