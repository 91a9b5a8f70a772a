//===- ShardingChoice.h - The shardings that a plan should have -*- C++ -*-===//

#ifndef PPOPT_LIB_SEARCH_SHARDINGCHOICE_H
#define PPOPT_LIB_SEARCH_SHARDINGCHOICE_H

#include "KnownPlans.h"

namespace mlir::pp {

/// A --shard, and what a plan is estimated to take with it on one place.
struct ShardEstimate {
  std::string shard;
  PlanBound cost;
};

/// Returns for each point, of one place and without `shard`, the ways to cut
/// the model over its tp that are worth a try, fastest first. Empty where tp
/// can cut nothing.
std::vector<std::vector<ShardEstimate>>
estimateShards(KnownPlans &plans, ArrayRef<PlanPoint> points);

/// Chooses what each size of tp cuts in points of the space of the plans, for
/// ranks that otherwise split the batch as far as it goes.
void chooseShards(KnownPlans &plans, PlanSpace &space);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_SHARDINGCHOICE_H
