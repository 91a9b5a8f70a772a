//===- ArenaLayout.cpp - Offsets in a rank's arena ------------------------===//

#include "ppopt/Program/ArenaLayout.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"
#include "ppopt/runtime.h"

using namespace mlir;
using namespace mlir::pp;

/// Replaces the offset of a slot that is on another place.
constexpr int64_t kElsewhere = -1;

std::string pp::getScalarRegion(RoleAttr role) {
  return role.getKind() == RoleKind::Global ? ("global:" + role.getName()).str()
                                            : role.getName().str();
}

std::string pp::getRangeRegion(RoleAttr role) {
  if (role.getKind() == RoleKind::ParamRange)
    return ("params:" + role.getName()).str();
  if (role.getKind() == RoleKind::GradRange)
    return ("grads:" + role.getName()).str();
  return role.getName().str();
}

std::string pp::getSummedRegion(Attribute what) {
  if (auto bucket = dyn_cast<FlatSymbolRefAttr>(what))
    return ("grads:" + bucket.getValue()).str();
  return getScalarRegion(cast<RoleAttr>(what));
}

std::string pp::getScratchRegion(StartOp start) {
  if (auto bucket = dyn_cast<FlatSymbolRefAttr>(start.getWhat()))
    return ("scratch:" + bucket.getValue()).str();
  return "scratch:" + getScalarRegion(cast<RoleAttr>(start.getWhat()));
}

ArenaLayout::ArenaLayout(ModuleOp module, int64_t place) : place(place) {
  for (auto region : module.getOps<RegionOp>()) {
    if (region.getPlace() != place)
      continue;
    regions.push_back(region);
    offsets[region.getRegionName()] = region.getOffset();
    bytes = std::max(bytes, region.getOffset() + region.getBytes());
  }
  for (auto bucket : module.getOps<BucketOp>())
    for (auto [name, offset] : llvm::zip(
             bucket.getParams().getAsRange<StringAttr>(), bucket.getOffsets()))
      bucketOf[name.getValue()] = {bucket, offset};
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

FailureOr<int64_t> ArenaLayout::getRegion(StringRef name, Location loc) const {
  auto found = offsets.find(name);
  if (found == offsets.end())
    return emitError(loc) << "no pp.region of place " << place << " is named '"
                          << name << "'",
           failure();
  return found->second;
}

int64_t ArenaLayout::getInBucket(StringRef prefix, StringRef param,
                                 bool isGradient) const {
  auto found = bucketOf.find(param);
  if (found == bucketOf.end())
    return -1;
  auto [bucket, offset] = found->second;
  auto region = offsets.find((prefix + ":" + bucket.getSymName()).str());
  Type element = isGradient ? getGradType(bucket) : bucket.getType();
  return region == offsets.end()
             ? -1
             : region->second + offset * getElementBytes(element);
}

FailureOr<int64_t> ArenaLayout::getParam(ParamDeclOp param) const {
  int64_t offset = getInBucket("params", param.getParamName());
  if (offset >= 0)
    return offset;
  return getRegion(("param:" + param.getParamName()).str(), param.getLoc());
}

int64_t ArenaLayout::getGradient(ParamDeclOp param) const {
  return getInBucket("grads", param.getParamName(), /*isGradient=*/true);
}

int64_t ArenaLayout::getState(ParamDeclOp param, StringRef state) const {
  return getInBucket(state, param.getParamName());
}

/// Returns the offset of a field in ppopt_step_state.
static std::optional<int64_t> getStepStateField(StringRef name) {
#define FIELD(NAME) .Case(#NAME, offsetof(ppopt_step_state, NAME))
  int64_t offset =
      llvm::StringSwitch<int64_t>(name) FIELD(lr) FIELD(weight_decay)
          FIELD(beta1) FIELD(beta2) FIELD(eps) FIELD(momentum)
              FIELD(bias_correction1) FIELD(bias_correction2) FIELD(clip_scale)
                  .Case("key", offsetof(ppopt_step_state, seed))
                  .Default(-1);
#undef FIELD
  return offset < 0 ? std::nullopt : std::optional<int64_t>(offset);
}

FailureOr<int64_t> ArenaLayout::getSlotOffset(Operation *action,
                                              int64_t slot) const {
  FailureOr<int64_t> base = getRegion("slots", action->getLoc());
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

FailureOr<int64_t> ArenaLayout::getOffset(RunOp run, RoleAttr role,
                                          Type type) const {
  std::string name = role.getName().str();
  Location loc = run.getLoc();
  switch (role.getKind()) {
  case RoleKind::Param: {
    int64_t offset = getInBucket("params", name);
    return offset >= 0 ? offset : getRegion("param:" + name, loc);
  }
  case RoleKind::Grad: {
    int64_t offset = getInBucket("grads", name, /*isGradient=*/true);
    if (offset < 0)
      return run.emitOpError("no bucket holds the gradient of '")
                 << name << "'",
             failure();
    return offset;
  }
  case RoleKind::ParamRange:
  case RoleKind::GradRange:
  case RoleKind::StateRange:
    return getRegion(getRangeRegion(role), loc);
  case RoleKind::Input: {
    FailureOr<int64_t> base = getRegion("input:" + name, loc);
    if (failed(base))
      return failure();
    return *base + run.getMicrobatch() * pp::getBytes(type);
  }
  case RoleKind::Saved:
  case RoleKind::Received:
    return getSlotOffset(run, getSlot(run, role));
  case RoleKind::Global:
  case RoleKind::Loss:
  case RoleKind::Norm:
  case RoleKind::Check:
    return getRegion(getScalarRegion(role), loc);
  case RoleKind::Cache:
  case RoleKind::Logits:
    return getRegion(name, loc);
  case RoleKind::StepState: {
    std::optional<int64_t> field = getStepStateField(name);
    FailureOr<int64_t> base = getRegion("step_state", loc);
    if (!field)
      return run.emitOpError("the step state has no field '") << name << "'",
             failure();
    if (failed(base))
      return failure();
    return *base + *field;
  }
  }
  llvm_unreachable("all roles are listed");
}
