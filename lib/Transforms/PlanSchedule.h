//===- PlanSchedule.h - From a module to the schedule library ----*- C++
//-*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PLANSCHEDULE_H
#define PPOPT_LIB_TRANSFORMS_PLANSCHEDULE_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Schedule/Table.h"

namespace mlir::pp {

/// Whether the plan's schedule has the input and the weight part of a backward
/// apart.
bool splitsBackward(PlanOp plan);

/// The stages of a module's tasks and the values between them. Times are
/// estimates in nanoseconds.
ppopt::schedule::StageGraph makeStageGraph(ModuleOp module, PlanOp plan);

/// The plan's schedule of these stages, checked. Emits an error where it can't
/// be had.
FailureOr<ppopt::schedule::Table>
makeTable(PlanOp plan, const ppopt::schedule::StageGraph &graph);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLANSCHEDULE_H
