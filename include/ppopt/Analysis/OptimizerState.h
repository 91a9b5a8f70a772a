//===- OptimizerState.h - What an optimizer keeps of each parameter -------===//

#ifndef PPOPT_ANALYSIS_OPTIMIZERSTATE_H
#define PPOPT_ANALYSIS_OPTIMIZERSTATE_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The names of an optimizer's states, each as large as the parameters: adam
/// and adamw have m and v, sgd has momentum.
SmallVector<StringRef> getOptimizerStates(StringRef optimizer);

/// The element type of a bucket's gradients, which are sums over microbatches
/// and ranks: f32 where the parameters are bf16.
Type getGradType(BucketOp bucket);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_OPTIMIZERSTATE_H
