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

/// The table of a module's entry, which the passes up to pp-lower-reshards hand
/// on so that each need not read it again: an analysis.
struct KnownShardings {
  explicit KnownShardings(Operation *) {}

  /// Returns the entry; reads its table if it is not known.
  FailureOr<func::FuncOp> readEntry(ModuleOp module);

  std::optional<ShardingTable> table;
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_SHARDEDENTRY_H
