//===- ActionProgram.h - The actions of the program -----------------------===//

#ifndef PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// Returns the actions of the schedules of training and of evaluation; they are
/// empty without such a schedule. `layouts` has one entry per place, by number.
FailureOr<schema::LocalActions> describeActions(ArrayRef<ScheduleOp> schedules,
                                                PlanOp plan,
                                                const ProgramIndex &index,
                                                ArrayRef<ArenaLayout> layouts);

/// Returns the updates of asynchronous training that the schedules of a place
/// end with, and that are not among its actions: the owner makes them when
/// gradients arrive.
FailureOr<std::vector<schema::OwnedBucket>>
describeUpdates(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                const ProgramIndex &index, const ArenaLayout &layout);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
