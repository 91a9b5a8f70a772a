//===- ActionProgram.h - The actions of the JSON document -----------------===//

#ifndef PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H

#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// Sets the fields "actions" and "eval_actions" (docs/program.md) of `object`
/// from the schedules of training and of evaluation; they are empty without
/// such a schedule. `layouts` has one entry per place, by number.
LogicalResult describeActions(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                              const ProgramIndex &index,
                              ArrayRef<ArenaLayout> layouts,
                              llvm::json::Object &object);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_ACTIONPROGRAM_H
