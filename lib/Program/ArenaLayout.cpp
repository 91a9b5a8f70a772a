//===- ArenaLayout.cpp - Offsets in a rank's arena ------------------------===//

#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Replaces the offset of a slot that is on another place.
constexpr int64_t kElsewhere = -1;

ArenaLayout::ArenaLayout(ModuleOp module, const BufferIndex &buffers,
                         int64_t place)
    : place(place), buffers(buffers) {
  for (auto region : module.getOps<RegionOp>()) {
    if (region.getPlace() != place)
      continue;
    regions.push_back(region);
    offsets[region.getBuffer()] = region.getOffset();
    bytes = std::max(bytes, region.getOffset() + region.getBytes());
  }
  for (auto schedule : module.getOps<ScheduleOp>()) {
    if (!schedule.isOf(place))
      continue;
    int64_t end = 0;
    for (auto [slot, size] : llvm::enumerate(schedule.getSlots())) {
      bool isHere = schedule.getSlotPlace(slot) == place;
      slotOffsets[schedule].push_back(isHere ? end : kElsewhere);
      end += isHere ? size : 0;
    }
  }
}

FailureOr<int64_t> ArenaLayout::getRegion(BufferAttr buffer,
                                          Location loc) const {
  auto found = offsets.find(buffer);
  if (found == offsets.end())
    return emitError(loc) << "no pp.region of place " << place << " holds "
                          << buffer,
           failure();
  return found->second;
}

/// Returns -1 if there is no address, or the place does not have its buffer.
int64_t ArenaLayout::findOffset(AddressAttr address) const {
  if (!address || !hasRegion(address.getBuffer()))
    return -1;
  return offsets.lookup(address.getBuffer()) + address.getOffset();
}

/// Emits an error at `loc` if the place does not have the address's buffer.
FailureOr<int64_t> ArenaLayout::getOffset(AddressAttr address,
                                          Location loc) const {
  FailureOr<int64_t> base = getRegion(address.getBuffer(), loc);
  if (failed(base))
    return failure();
  return *base + address.getOffset();
}

FailureOr<int64_t> ArenaLayout::getParam(ParamDeclOp param) const {
  return getOffset(buffers.getParam(param.getParamNameAttr()), param.getLoc());
}

int64_t ArenaLayout::getMaster(ParamDeclOp param) const {
  return findOffset(buffers.getMaster(param.getParamNameAttr()));
}

int64_t ArenaLayout::getGradient(ParamDeclOp param) const {
  return findOffset(buffers.getGradient(param.getParamNameAttr()));
}

int64_t ArenaLayout::getState(ParamDeclOp param, StringRef state) const {
  return findOffset(buffers.getState(param.getParamNameAttr(), state));
}

FailureOr<int64_t> ArenaLayout::getSlotOffset(Operation *action,
                                              int64_t slot) const {
  FailureOr<int64_t> base = getRegion(BufferKind::Slots, action->getLoc());
  if (failed(base))
    return failure();
  auto found = slotOffsets.find(action->getParentOp());
  if (found == slotOffsets.end() || slot < 0 ||
      slot >= static_cast<int64_t>(found->second.size()) ||
      found->second[slot] == kElsewhere)
    return action->emitOpError("uses slot ")
               << slot << ", which its schedule does not have on place "
               << place,
           failure();
  return *base + found->second[slot];
}

FailureOr<schema::Address> ArenaLayout::getAddress(Operation *action,
                                                   AddressAttr address) const {
  FailureOr<int64_t> offset = getOffset(address, action->getLoc());
  if (failed(offset))
    return failure();
  schema::Address found(*offset);
  for (StrideAttr stride : address.getStrides())
    found.strides.push_back({stride.getAxis().str(), stride.getBytes()});
  return found;
}
