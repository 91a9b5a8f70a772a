//===- OptimizerStep.h - The tasks of a place at the end of a step --------===//

#ifndef PPOPT_TRANSFORMS_PARTITION_OPTIMIZERSTEP_H
#define PPOPT_TRANSFORMS_PARTITION_OPTIMIZERSTEP_H

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Builds a task @pP_N… of a place: the sum of the squares of the gradients in
/// one chunk of each of `buckets`, which are of one class of the norm's layout,
/// in f64. A run says which chunk. The name ends in the axes that cut them.
void buildNormTask(PlanOp plan, int64_t place, ArrayRef<BucketOp> buckets,
                   ArrayRef<StringAttr> cutAxes, OpBuilder &builder);

/// Builds the task @pP_D of a place. The field `norm_squared` becomes the sum
/// of all chunks' sums in their order; `hold` becomes 1 if the loss or the norm
/// is not finite or a count is zero, and 0 otherwise; `clip_scale` scales a
/// gradient whose norm is larger than `clip` to it, unless `hold` is 1. `loss`
/// and `counts` are operands of other tasks; their sums are complete.
void buildDecideTask(PlanOp plan, int64_t place, const TaskOperand &loss,
                     ArrayRef<TaskOperand> counts, const NormLayout &layout,
                     OpBuilder &builder);

/// Builds the task @pP_C_<bucket> of the owner of a borrowed bucket: adds
/// `count` values of `type`, the gradients of the borrowers.
TaskOp buildCollectTask(BucketOp bucket, unsigned count, Type type,
                        OpBuilder &builder);

/// Builds the task @pP_U_<bucket> of a place: one step of the plan's optimizer
/// on the bucket, or on a chunk of it if the bucket is sharded. If `hold` is
/// set, the ranges keep their bits.
void buildUpdateTask(PlanOp plan, int64_t place, BucketOp bucket,
                     OpBuilder &builder);

/// Builds the task @pP_A_<bucket> of a place: exchanges what an update changes,
/// the parameters, with their averages. Returns null if the plan has none.
TaskOp buildAverageTask(PlanOp plan, int64_t place, BucketOp bucket,
                        OpBuilder &builder);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_OPTIMIZERSTEP_H
