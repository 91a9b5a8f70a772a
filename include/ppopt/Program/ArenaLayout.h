//===- ArenaLayout.h - Offsets in a rank's arena --------------------------===//

#ifndef PPOPT_PROGRAM_ARENALAYOUT_H
#define PPOPT_PROGRAM_ARENALAYOUT_H

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "schema/address.h"

namespace mlir::pp {

/// Offsets (bytes) in the arena of a place's ranks, from the place's pp.regions
/// in a module of phase kernels.
class ArenaLayout {
public:
  /// `buffers` is the module's, and outlives the layout.
  ArenaLayout(ModuleOp module, const BufferIndex &buffers, int64_t place);

  /// Returns where in the arena the address is that an action binds. Emits an
  /// error on the action if the place does not have it.
  FailureOr<schema::Address> getAddress(Operation *action,
                                        AddressAttr address) const;
  /// Returns the offset of a slot of an action's schedule.
  FailureOr<int64_t> getSlotOffset(Operation *action, int64_t slot) const;
  /// Returns the offset of the region of a buffer; emits an error at `loc` if
  /// it is missing.
  FailureOr<int64_t> getRegion(BufferAttr buffer, Location loc) const;
  FailureOr<int64_t> getRegion(BufferKind kind, Location loc) const {
    return getRegion(BufferAttr::get(loc.getContext(), kind), loc);
  }
  bool hasRegion(BufferAttr buffer) const { return offsets.contains(buffer); }
  /// Return the offset of a parameter, and of its gradient (-1: none) or state.
  FailureOr<int64_t> getParam(ParamDeclOp param) const;
  int64_t getGradient(ParamDeclOp param) const;
  /// Returns the offset of the chunk of the master that holds a parameter; -1
  /// if it has no owners.
  int64_t getMaster(ParamDeclOp param) const;
  int64_t getState(ParamDeclOp param, StringRef state) const;
  /// Returns the place's regions, in order.
  ArrayRef<RegionOp> getRegions() const { return regions; }
  /// Returns the size of the arena.
  int64_t getBytes() const { return bytes; }

private:
  int64_t findOffset(AddressAttr address) const;
  FailureOr<int64_t> getOffset(AddressAttr address, Location loc) const;

  int64_t place;
  const BufferIndex &buffers;
  SmallVector<RegionOp> regions;
  DenseMap<BufferAttr, int64_t> offsets;
  /// The offset of each slot of a schedule, relative to the first slot.
  DenseMap<Operation *, SmallVector<int64_t, 0>> slotOffsets;
  int64_t bytes = 0;
};

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_ARENALAYOUT_H
