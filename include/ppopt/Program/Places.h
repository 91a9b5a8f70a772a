//===- Places.h - What each place holds and runs --------------------------===//

#ifndef PPOPT_PROGRAM_PLACES_H
#define PPOPT_PROGRAM_PLACES_H

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::pp {

/// What the ranks of a place hold and run, in module order.
struct PlaceContents {
  int64_t place = 0;
  SmallVector<TaskOp> tasks;
  SmallVector<BucketOp> buckets;
  SmallVector<ParamDeclOp> params;
  SmallVector<InputDeclOp> inputs; ///< read by a task of the place
  /// The place's own schedules, or those of all places.
  SmallVector<ScheduleOp> schedules;
};

/// Returns one entry for each place of the plan.
SmallVector<PlaceContents, 0> collectPlaces(ModuleOp module, PlanOp plan);

/// Returns the scalars that tasks add to (loss, norms, globals) with their
/// types. Every place has all of them: even if it adds nothing, it takes part
/// in their sums.
llvm::MapVector<RoleAttr, ShapedType> findScalars(ModuleOp module);

/// An output that a task of a program that predicts makes.
struct TaskOutput {
  TaskOp task;
  RoleAttr role;
  ShapedType type; ///< of the rank's rows
};
/// Returns the outputs in the order of the tasks, after phase kernels.
SmallVector<TaskOutput> findOutputs(ModuleOp module);

/// Returns the bytes of a start's receive buffer on each rank. The places of a
/// local launch add to each other's buffers.
int64_t getScratchBytes(StartOp start, PlanOp plan,
                        const CollectiveOperand &operand);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLACES_H
