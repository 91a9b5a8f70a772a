//===- ScheduleIndex.h - Symbols used by the checks of all tables ---------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Looks up each symbol once.
struct ScheduleIndex {
  ScheduleIndex(ModuleOp module, PlanOp plan);

  PlanOp plan;
  ppopt::geometry::Mesh mesh;
  int64_t microbatches, places, batchParts;
  StepIndex step;
  StepOp stepOp;
  BufferIndex operandBuffers;
  SmallVector<TaskOp> tasks;
  /// The symbol of the bucket of each parameter that learns, and the buckets by
  /// symbol.
  llvm::StringMap<Attribute> bucketOf;
  llvm::MapVector<Attribute, BucketOp> buckets;
  /// The buckets that some places borrow from their owner, by symbol.
  DenseMap<Attribute, BucketOp> borrowed;
  /// The places that have a part of a sum over ranks; all if empty.
  DenseMap<Attribute, ArrayRef<int64_t>> placesOf;

  /// Returns the start that a step of a place leaves in flight as its token
  /// `number`; null if it leaves none.
  StartOp getCarried(int64_t place, unsigned number) const;
  /// Returns the buffer, as starts name it, that a role belongs to; null if it
  /// is never summed.
  Attribute getSummed(RoleAttr role) const;
  /// Returns whether an operand of a task is one chunk of a bucket.
  bool isChunk(const TaskOperand &operand) const;

private:
  /// The schedules of training, by place.
  DenseMap<int64_t, ScheduleOp> training;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SCHEDULEINDEX_H
