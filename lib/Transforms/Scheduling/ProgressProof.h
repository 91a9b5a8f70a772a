//===- ProgressProof.h - No rank of the schedules waits forever -----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_PROGRESSPROOF_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_PROGRESSPROOF_H

#include "ScheduleIndex.h"

namespace mlir::pp {

/// Checks, on the tables of all places together, that all ends of a queue agree
/// on its order and that no rank waits forever, even if every communication
/// holds its queue until all its ranks have reached it. Each table must have
/// been checked by itself before. If a step starts gathers for what follows,
/// all that may follow one another are proved together. If the plan has one
/// queue per rank, all its communication is in that. A local schedule is the
/// tables of all places in one: its actions are proved like theirs.
/// OtherEndsChecker checks that their one order lets no wait block.
LogicalResult proveSchedules(const ScheduleLists &lists,
                             const ScheduleIndex &index);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_PROGRESSPROOF_H
