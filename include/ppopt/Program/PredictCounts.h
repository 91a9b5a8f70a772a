//===- PredictCounts.h - Predicted counters of a training step ------------===//

#ifndef PPOPT_PROGRAM_PREDICTCOUNTS_H
#define PPOPT_PROGRAM_PREDICTCOUNTS_H

#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// The values of the runtime's counters for a training step of a rank.
struct PredictedCounts {
  int64_t launches = 0;  ///< kernels and matmuls
  int64_t flops = 0;     ///< of matmuls, also inside kernels
  int64_t bytesSent = 0; ///< transfers, and sums by the built-in collectives
};

/// Predicts for the place's rank with coordinate 0 on all other axes.
PredictedCounts predictCounts(PlanOp plan, const PlaceContents &contents,
                              const ProgramIndex &index);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PREDICTCOUNTS_H
