//===- ShardedEntry.h - An entry whose ops say how they are cut -*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_SHARDEDENTRY_H
#define PPOPT_TRANSFORMS_SHARDING_SHARDEDENTRY_H

#include "ppopt/Analysis/ShardingTable.h"

namespace mlir::pp {

struct ShardedEntry {
  func::FuncOp entry;
  ShardingTable table;
};

/// Reads the annotations of the module's entry over the axes of its plan. Emits
/// an error if there is no plan, or one of them is missing or wrong.
FailureOr<ShardedEntry> readShardedEntry(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_SHARDEDENTRY_H
