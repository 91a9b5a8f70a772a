//===- ShardedState.h - What ranks have of the optimizer's states ---------===//

#ifndef PPOPT_LIB_DRIVER_SHARDEDSTATE_H
#define PPOPT_LIB_DRIVER_SHARDEDSTATE_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Program/Places.h"
#include "ppopt/Program/SchemaWords.h"

namespace mlir::pp {

/// Returns what is sharded, an entry per group of ranks.
std::vector<ShardReport> describeShards(ModuleOp module, PlanOp plan);

/// Adds what a rank of the place would have if nothing were sharded, and what
/// its tasks send because it is.
void addSharded(ModuleOp module, PlanOp plan, const PlaceContents &contents,
                PlaceReport &report);

/// Returns the bytes that a rank of each place writes of a checkpoint: the most
/// of the place's ranks.
SmallVector<int64_t> predictCheckpointBytes(const schema::Program &program);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_SHARDEDSTATE_H
