//===- ElementCount.h - What an op computes for each element --------------===//

#ifndef PPOPT_LIB_ANALYSIS_ELEMENTCOUNT_H
#define PPOPT_LIB_ANALYSIS_ELEMENTCOUNT_H

#include "ppopt/Analysis/Cost.h"

namespace mlir::pp {

/// Returns the type by whose rates a value is computed: integers count as f32.
::ppopt::MatmulType getRateType(Value value);

/// Returns the work of an op that is computed for `elements` elements. What it
/// does for each follows from the scalar code that it emits; an op that emits
/// none, a reduction or a look-up, does one operation.
ElementWork countElements(Operation *op, double elements);

} // namespace mlir::pp

#endif // PPOPT_LIB_ANALYSIS_ELEMENTCOUNT_H
