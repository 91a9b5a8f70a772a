//===- EndOfStep.h - Sums and updates of a predicted step -----------------===//

#ifndef PPOPT_PROGRAM_ENDOFSTEP_H
#define PPOPT_PROGRAM_ENDOFSTEP_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Schedule/Table.h"

namespace mlir::pp {

/// Adds to the rows of a simulated step what places do after their stages: they
/// wait for sums over ranks, which start as soon as their gradients are
/// complete, and update. The module's schedules are those of ranks.
void addEndOfStep(ModuleOp module, PlanOp plan,
                  ::ppopt::schedule::Timeline &timeline);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_ENDOFSTEP_H
