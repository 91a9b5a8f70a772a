//===- PredictCounts.h - What a step will count ---------------------------===//

#ifndef PPOPT_PROGRAM_PREDICTCOUNTS_H
#define PPOPT_PROGRAM_PREDICTCOUNTS_H

#include "ppopt/Program/PlaceProgram.h"

namespace mlir::pp {

/// What a rank does in a step of training, as the runtime's counters count it.
struct PredictedCounts {
  int64_t launches = 0;  ///< kernels and matmuls
  int64_t flops = 0;     ///< of matmuls, those inside kernels too
  int64_t bytesSent = 0; ///< transfers, and sums by the built-in collectives
};

/// Of the place's rank with coordinate 0 on all other axes.
PredictedCounts predictCounts(PlanOp plan, const PlaceContents &contents,
                              const ProgramIndex &index);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PREDICTCOUNTS_H
