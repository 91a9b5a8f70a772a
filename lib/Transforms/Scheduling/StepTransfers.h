//===- StepTransfers.h - Transfers of borrowed buckets ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H

#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {

/// Inserts into the schedule of a place its ends of the transfers that are made
/// once per step. They start together, in the order of the module: transfers of
/// parameters after the prologues and before all microbatches,
/// transfers of gradients after the last run of a stage. Each is waited for
/// where its value is read, and before the buffer that it sends is overwritten.
void insertStepTransfers(ScheduleOp schedule, const SlotUses &uses);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_STEPTRANSFERS_H
