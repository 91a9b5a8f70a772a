//===- ShardedEntry.cpp - An entry whose ops say how they are cut ---------===//

#include "ppopt/Transforms/Sharding/ShardedEntry.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Transforms/Model/Entry.h"

using namespace mlir;
using namespace mlir::pp;

FailureOr<ShardedEntry> pp::readShardedEntry(ModuleOp module) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(entry) || failed(plan))
    return failure();
  FailureOr<ShardingTable> table =
      ShardingTable::read(*entry, ShardingAxes::of(*plan));
  if (failed(table))
    return failure();
  return ShardedEntry{*entry, std::move(*table)};
}

FailureOr<func::FuncOp> KnownShardings::readEntry(ModuleOp module) {
  if (table)
    return findEntry(module);
  FailureOr<ShardedEntry> sharded = readShardedEntry(module);
  if (failed(sharded))
    return failure();
  table = std::move(sharded->table);
  return sharded->entry;
}
