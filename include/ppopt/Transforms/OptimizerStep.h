//===- OptimizerStep.h - The tasks of a place at a step's end ----*- C++
//-*-===//

#ifndef PPOPT_TRANSFORMS_OPTIMIZERSTEP_H
#define PPOPT_TRANSFORMS_OPTIMIZERSTEP_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The names of an optimizer's states, each as large as the parameters: adam
/// and adamw have m and v, sgd has momentum.
SmallVector<StringRef> getOptimizerStates(StringRef optimizer);

/// The element type of a bucket's gradients, which are sums over microbatches
/// and ranks: f32 where the parameters are bf16.
Type getGradType(BucketOp bucket);

/// Builds the task @pP_N of a place: the sum of the squares of the gradients in
/// the buckets that it owns, in f64. None where it owns none.
void buildNormTask(int64_t place, ArrayRef<BucketOp> buckets,
                   OpBuilder &builder);

/// Builds the task @pP_C_<bucket> of a borrowed bucket's owner: adds the
/// gradients that the transfers bring.
void buildCollectTask(BucketOp bucket, ArrayRef<TransferOp> transfers,
                      OpBuilder &builder);

/// Builds the task @pP_U_<bucket> of a place: one step of the plan's optimizer
/// on the bucket's ranges.
void buildUpdateTask(PlanOp plan, int64_t place, BucketOp bucket,
                     OpBuilder &builder);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_OPTIMIZERSTEP_H
