//===- ScheduleIndex.h - What the checks of all tables look up ------------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H

#include "ppopt/Transforms/Scheduling/SlotUses.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Each symbol is looked up once.
struct ScheduleIndex {
  ScheduleIndex(ModuleOp module, PlanOp plan);

  PlanOp plan;
  int64_t microbatches, places, dataParallel;
  SlotUses uses;
  SmallVector<TaskOp> tasks;
  SmallVector<TransferOp> transfers;
  SmallVector<BucketOp> buckets;
  /// The bucket's symbol of each parameter that learns.
  llvm::StringMap<Attribute> bucketOf;
  /// The buckets that some places borrow from their owner, by symbol.
  DenseMap<Attribute, BucketOp> borrowed;
  /// The counts of the module; what decides on the update: loss and norm.
  llvm::SmallSetVector<Attribute, 4> globals, deciding;
  /// The places that have a part of what is summed over ranks; empty: all.
  DenseMap<Attribute, ArrayRef<int64_t>> placesOf;
  /// Test only: which of the checks a planted bug would fail.
  bool hasPlantedSums, hasPlantedSlots;

  /// The buffer, as starts name it, that a role belongs to; null if it is never
  /// summed.
  Attribute getSummed(RoleAttr role) const;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
