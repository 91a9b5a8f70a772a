//===- ShardedState.h - What ranks have of the optimizer's states ---------===//

#ifndef PPOPT_LIB_DRIVER_SHARDEDSTATE_H
#define PPOPT_LIB_DRIVER_SHARDEDSTATE_H

#include "ppopt/Driver/PlanReport.h"

namespace mlir::pp {

/// Returns what is sharded, an entry per group of ranks.
std::vector<ShardReport> describeShards(ModuleOp module, PlanOp plan);

/// Returns the bytes of the states that a rank of the place would have if none
/// were sharded.
int64_t countWholeStates(ModuleOp module, PlanOp plan, int64_t place);

/// Returns the bytes that a rank of each place writes of a checkpoint: the most
/// of the place's ranks.
SmallVector<int64_t> predictCheckpointBytes(ModuleOp module, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_SHARDEDSTATE_H
