//===- ShardedTasks.h - Tasks that work on shards of buckets ----*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_SHARDEDTASKS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_SHARDEDTASKS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::pp {

/// A parameter of a task, or a gradient that it adds to: the number of the
/// argument or result, and its first element in the bucket.
struct BucketMember {
  unsigned number;
  int64_t first;
};

/// The members of each bucket, in the order of the signature.
using BucketMembers = llvm::MapVector<Operation *, SmallVector<BucketMember>>;

/// Finds a task's arguments of a role, or results, that lie in buckets that
/// `isSharded` selects.
BucketMembers findMembers(ModuleOp module, TaskOp task, RoleKind kind,
                          bool isOfResults,
                          llvm::function_ref<bool(BucketOp)> isSharded);

/// Returns the elements from `first` on of a flat value, in a shape.
Value createPart(OpBuilder &builder, Location loc, Value flat, int64_t first,
                 RankedTensorType type);

/// Adds an argument to a task, after the others.
Value addArgument(TaskOp task, RoleAttr role, Type type, Location loc);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_SHARDEDTASKS_H
