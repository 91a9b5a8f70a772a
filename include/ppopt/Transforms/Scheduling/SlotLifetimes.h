//===- SlotLifetimes.h - How long values are in slots -----------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_SLOTLIFETIMES_H
#define PPOPT_TRANSFORMS_SCHEDULING_SLOTLIFETIMES_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {

/// Returns what a value of a schedule was in its slot as first: the future of a
/// value that a wait gives, else the value.
Value getHolder(Value value);

/// Returns the type of the tensor in the slot.
Type getValueType(Value holder);

/// Returns the number of the slot of a result of an action; nothing before
/// pp-assign-slots.
std::optional<int64_t> getSlot(Value holder);

/// Returns what an action puts into slots: tensors, or a future.
SmallVector<Value> getHolders(Operation *action);

/// The lifetime of a value in a slot. Positions count the schedule's actions.
struct SlotLifetime {
  Value holder;
  int64_t place = 0;
  int64_t bytes = 0; ///< aligned
  /// The run that makes it, the start of its receive, or its copy.
  unsigned begin = 0;
  /// The last action that reads it, or the wait for the last send of it.
  unsigned end = 0;
};

/// Returns all lifetimes of a schedule, sorted by begin.
SmallVector<SlotLifetime> findLifetimes(ScheduleOp schedule,
                                        const StepIndex &index);

/// Returns for each task the numbers of the arguments whose values it is always
/// the last to read: it may overwrite them. Empty in a module without
/// schedules.
DenseMap<Operation *, DenseSet<unsigned>> findDyingArguments(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_SLOTLIFETIMES_H
