//===- PredictCounts.h - Predicted counters of a training step ------------===//

#ifndef PPOPT_PROGRAM_PREDICTCOUNTS_H
#define PPOPT_PROGRAM_PREDICTCOUNTS_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// Predicts the runtime's counters of a training step, for the place's rank
/// with coordinate 0 on all other axes.
schema::Predicted predictCounts(PlanOp plan, const PlaceContents &contents,
                                const ProgramIndex &index);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PREDICTCOUNTS_H
