//===- ShardingChoice.h - The shardings that a plan should have -*- C++ -*-===//

#ifndef PPOPT_LIB_SEARCH_SHARDINGCHOICE_H
#define PPOPT_LIB_SEARCH_SHARDINGCHOICE_H

#include "KnownPlans.h"

namespace mlir::pp {

/// Returns for each point, of one place and without `shard`, the --shard with
/// which it is estimated to be fastest and, if it is another one, that with
/// which it needs least memory. Empty where tp can cut nothing.
std::vector<std::vector<std::string>> chooseShards(KnownPlans &plans,
                                                   ArrayRef<PlanPoint> points);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_SHARDINGCHOICE_H
