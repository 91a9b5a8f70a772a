//===- Places.h - What each place holds and runs --------------------------===//

#ifndef PPOPT_PROGRAM_PLACES_H
#define PPOPT_PROGRAM_PLACES_H

#include "ppopt/Dialect/PP/PP.h"

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

/// Returns the scalars that tasks add to (loss, norm, globals) with their
/// types. Every place has all of them: even if it adds nothing, it takes part
/// in their sums.
llvm::MapVector<RoleAttr, ShapedType> findScalars(ModuleOp module);

/// A buffer that can be summed over ranks: its number of elements and their
/// type.
struct SummedBuffer {
  int64_t elements = 0;
  Type type;
};

/// Returns them keyed by what a pp.start names: a bucket's symbol or a scalar's
/// role.
DenseMap<Attribute, SummedBuffer> findSummedBuffers(ModuleOp module);

/// Returns the bytes of a start's receive buffer on each rank. The places of a
/// local launch add to each other's buffers.
int64_t getScratchBytes(StartOp start, PlanOp plan, const SummedBuffer &buffer);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLACES_H
