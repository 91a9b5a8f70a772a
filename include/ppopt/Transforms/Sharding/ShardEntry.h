//===- ShardEntry.h - Cuts an entry as its plan says ------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_SHARDENTRY_H
#define PPOPT_TRANSFORMS_SHARDING_SHARDENTRY_H

#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// Turns an entry on global shapes into what a rank computes for a microbatch,
/// its collectives included, as --pp-shard and --pp-lower-model-reshards do,
/// but for transfers in parts. An op that is added has the location of the one
/// that it is part of, or that makes what it reshards. Emits an error and fails
/// where these passes do.
LogicalResult shardEntry(func::FuncOp entry, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_SHARDENTRY_H
