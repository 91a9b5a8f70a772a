//===- OptimizerStep.h - The norm and update tasks ---------------*- C++
//-*-===//

#ifndef PPOPT_TRANSFORMS_OPTIMIZERSTEP_H
#define PPOPT_TRANSFORMS_OPTIMIZERSTEP_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The names of an optimizer's states, each as large as the parameters: adam
/// and adamw have m and v, sgd has momentum.
SmallVector<StringRef> getOptimizerStates(StringRef optimizer);

/// Builds the task @s0_N: the sum of the squares of all gradients, in f64.
void buildNormTask(ArrayRef<BucketOp> buckets, OpBuilder &builder);

/// Builds the task @s0_U_<bucket>: one step of the plan's optimizer on the
/// bucket's ranges.
void buildUpdateTask(PlanOp plan, BucketOp bucket, OpBuilder &builder);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_OPTIMIZERSTEP_H
