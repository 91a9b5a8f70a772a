//===- ShardChecker.h - Checks what tasks do with shards --------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_SHARDCHECKER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_SHARDCHECKER_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Checks what a task of a stage does with chunks of buckets. It reads the
/// chunk of parameters only through a gather over the ranks that shard the
/// bucket, and of what it gathers only parameters. To the chunk of gradients it
/// adds the sum over these ranks of zeros to which gradients were added, so
/// that the padding is zero.
class ShardChecker {
public:
  ShardChecker(TaskOp task, const llvm::StringMap<BucketOp> &buckets,
               const llvm::StringMap<ParamDeclOp> &params)
      : task(task), buckets(buckets), params(params) {}

  LogicalResult check();

private:
  LogicalResult checkParameters(RoleAttr role, Value chunk);
  LogicalResult checkGathered(AllGatherOp gather, BucketOp bucket);
  LogicalResult checkGradients(RoleAttr role, Value result, Value chunk);
  LogicalResult checkSummed(ReduceScatterOp sum, BucketOp bucket);
  LogicalResult checkIsOfMember(Operation *op, BucketOp bucket, int64_t first,
                                int64_t elements);

  TaskOp task;
  const llvm::StringMap<BucketOp> &buckets;
  const llvm::StringMap<ParamDeclOp> &params;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_SHARDCHECKER_H
