//===- ScheduleChecker.h - Walks the table of one place ----------*- C++
//-*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULECHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULECHECKER_H

#include "ppopt/Transforms/SlotUses.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// What the checks of all tables look up, each symbol once.
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
  /// The counts of the module, and the norm.
  llvm::SmallSetVector<Attribute, 4> globals, norms;
  /// The places that have a part of what is summed over ranks; empty: all.
  DenseMap<Attribute, ArrayRef<int64_t>> placesOf;
  /// Test only: which of the checks a planted bug would fail.
  bool hasPlantedSums, hasPlantedSlots;

  /// The buffer, as starts name it, that a role belongs to; null if it is never
  /// summed.
  Attribute getSummed(RoleAttr role) const;
};

/// Holds, on the table of one place or of all, that every task of the place
/// runs once on every microbatch, behind what it reads; that no slot is written
/// while its value is still read or sent, or read while it is being received;
/// that each end of a transfer starts once for every microbatch, or once if it
/// is of the step; that borrowed parameters are read behind their transfer and
/// sent before they are updated, and their gradients are complete when they are
/// sent; that nothing is added to a gradient that was read; that what is summed
/// over ranks is summed once, over all ranks that have a part, behind the last
/// addition and before the first reader; and that all that is started is waited
/// for.
LogicalResult checkSchedule(ScheduleOp schedule, const ScheduleIndex &index);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULECHECKER_H
