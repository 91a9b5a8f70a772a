//===- ScheduleChecker.h - Walks the table of one place -------------------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULECHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULECHECKER_H

#include "ScheduleIndex.h"

namespace mlir::pp {

/// Holds, on the table of one place or of all, that every task of the place
/// runs once on every microbatch, behind what it reads; that no slot is written
/// while its value is still read or sent, or read while it is being received;
/// that each end of a transfer starts once for every microbatch, or once if it
/// is of the step; that borrowed parameters are read behind their transfer and
/// sent before they are updated, and their gradients are complete when they are
/// sent; that nothing is added to a gradient that was read; that what is summed
/// over ranks is summed once, over all ranks that have a part, behind the last
/// addition and before the first reader; and that all that is started is waited
/// for.
LogicalResult checkSchedule(ScheduleOp schedule, const ScheduleIndex &index);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULECHECKER_H
