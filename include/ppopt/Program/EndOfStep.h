//===- EndOfStep.h - Sums and updates of a predicted step -----------------===//

#ifndef PPOPT_PROGRAM_ENDOFSTEP_H
#define PPOPT_PROGRAM_ENDOFSTEP_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Schedule/Goodput.h"
#include "ppopt/Schedule/Table.h"

namespace mlir::pp {

class TaskTimes;

/// Adds to the rows of a simulated step what places do after their stages: they
/// wait for sums over ranks, which start as soon as their gradients are
/// complete, and update, a slow place slowly. The module's schedules are those
/// of ranks.
void addEndOfStep(ModuleOp module, PlanOp plan, const TaskTimes &times,
                  const ::ppopt::schedule::SlowPlace &slow,
                  ::ppopt::schedule::Timeline &timeline);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_ENDOFSTEP_H
