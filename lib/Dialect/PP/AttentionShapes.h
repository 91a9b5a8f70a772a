//===- AttentionShapes.h - Sizes and work of attention --------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_ATTENTIONSHAPES_H
#define PPOPT_LIB_DIALECT_PP_ATTENTIONSHAPES_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

/// `scale`: 1/sqrt(queryWidth) if there is none. `v`: of all keys.
AttentionShape makeAttentionShape(Value q, Value v, bool isCausal,
                                  std::optional<APFloat> scale);

/// Returns the work of matmuls whose depths add up to `depth`, each over all
/// scores that `window` (0: none) and causality do not hide, and of operations
/// on each score.
FormWork makeAttentionWork(const AttentionShape &shape, int64_t window,
                           double depth, double perScore,
                           bool isGradient = false);

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_ATTENTIONSHAPES_H
