//===- ActionProgram.h - The actions of the JSON document -----------------===//

#ifndef PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H

#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// Gives `object` the fields "actions" and "eval_actions" (docs/program.md) of
/// the schedules, one of training and one of evaluation; where there are none,
/// they are empty. `layouts` are those of all places, by number.
LogicalResult describeActions(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                              const ProgramIndex &index,
                              ArrayRef<ArenaLayout> layouts,
                              llvm::json::Object &object);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
