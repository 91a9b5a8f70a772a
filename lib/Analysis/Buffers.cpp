//===- Buffers.cpp - Where the operands of tasks lie ----------------------===//

#include "ppopt/Analysis/Buffers.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/runtime.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;

BufferAttr pp::getWholeBuffer(RoleAttr role) {
  auto get = [&](BufferKind kind, auto... names) {
    return BufferAttr::get(role.getContext(), kind, names...);
  };
  switch (role.getKind()) {
  case RoleKind::ParamRange:
    return get(BufferKind::Params, role.getName());
  case RoleKind::GradRange:
    return get(BufferKind::Grads, role.getName());
  case RoleKind::StateRange:
    return get(BufferKind::State, role.getName(), role.getState());
  case RoleKind::Global:
    return get(BufferKind::Global, role.getName());
  case RoleKind::Loss:
    return get(BufferKind::Loss);
  case RoleKind::Norm:
    return get(BufferKind::Norm);
  case RoleKind::Check:
    return get(BufferKind::Check, role.getName());
  case RoleKind::Cache:
    return get(BufferKind::Cache, role.getName());
  case RoleKind::Logits:
    return get(BufferKind::Logits);
  case RoleKind::Param:
  case RoleKind::Grad:
  case RoleKind::Input:
  case RoleKind::StepState:
  case RoleKind::Saved:
  case RoleKind::Received:
    return {};
  }
  llvm_unreachable("all roles are listed");
}

BufferAttr pp::getSummedBuffer(Attribute what) {
  if (auto bucket = dyn_cast<FlatSymbolRefAttr>(what))
    return BufferAttr::get(what.getContext(), BufferKind::Grads,
                           bucket.getValue());
  return getWholeBuffer(cast<RoleAttr>(what));
}

BufferAttr pp::getScratchBuffer(Attribute what) {
  return BufferAttr::get(what.getContext(), BufferKind::Scratch, "", "",
                         getSummedBuffer(what));
}

//===----------------------------------------------------------------------===//
// BufferIndex
//===----------------------------------------------------------------------===//

void BufferIndex::addBucket(BucketOp bucket, ArrayRef<StringRef> states) {
  MLIRContext *context = bucket.getContext();
  for (auto [name, offset] : llvm::zip(
           bucket.getParams().getAsRange<StringAttr>(), bucket.getOffsets()))
    bucketOf[name] = {bucket, offset};
  StringRef name = bucket.getSymName();
  int64_t params = bucket.getElements() * getElementBytes(bucket.getType());
  bytes[BufferAttr::get(context, BufferKind::Params, name)] = params;
  bytes[BufferAttr::get(context, BufferKind::Grads, name)] =
      bucket.getElements() * getElementBytes(getGradType(bucket));
  for (StringRef state : states)
    bytes[BufferAttr::get(context, BufferKind::State, name, state)] = params;
}

void BufferIndex::addWholeBuffers(TaskOp task) {
  for (const TaskOperand &operand : task.getBoundOperands())
    if (BufferAttr buffer = getWholeBuffer(operand.role))
      bytes.try_emplace(buffer, pp::getBytes(operand.type));
}

BufferIndex::BufferIndex(ModuleOp module) {
  int64_t dataParallel = 1, microbatches = 1;
  SmallVector<StringRef> states;
  for (auto plan : module.getOps<PlanOp>()) {
    dataParallel = plan.getBatchParts();
    microbatches = plan.getMicrobatches();
    states = getOptimizerStates(plan.getOptimizer());
  }
  MLIRContext *context = module.getContext();
  for (auto bucket : module.getOps<BucketOp>())
    addBucket(bucket, states);
  for (auto param : module.getOps<ParamDeclOp>())
    if (!bucketOf.contains(param.getParamNameAttr()))
      bytes[getParam(param.getParamNameAttr()).getBuffer()] =
          pp::getBytes(param.getType());
  for (auto input : module.getOps<InputDeclOp>())
    bytes[BufferAttr::get(context, BufferKind::Input, input.getInputName())] =
        pp::getBytes(input.getType()) / dataParallel;
  bytes[BufferAttr::get(context, BufferKind::StepState)] =
      PPOPT_KEY_OFFSET(microbatches);
  for (auto task : module.getOps<TaskOp>())
    addWholeBuffers(task);
}

std::optional<int64_t> BufferIndex::getBytes(BufferAttr buffer) const {
  auto found = bytes.find(buffer);
  return found == bytes.end() ? std::nullopt : std::optional(found->second);
}

AddressAttr BufferIndex::getInBucket(StringAttr param, BufferKind kind,
                                     StringRef state) const {
  auto found = bucketOf.find(param);
  if (found == bucketOf.end())
    return {};
  auto [bucket, offset] = found->second;
  Type element =
      kind == BufferKind::Grads ? getGradType(bucket) : bucket.getType();
  MLIRContext *context = param.getContext();
  return AddressAttr::get(
      context, BufferAttr::get(context, kind, bucket.getSymName(), state),
      offset * getElementBytes(element));
}

AddressAttr BufferIndex::getParam(StringAttr param) const {
  if (AddressAttr address = getInBucket(param, BufferKind::Params))
    return address;
  MLIRContext *context = param.getContext();
  return AddressAttr::get(
      context, BufferAttr::get(context, BufferKind::Param, param.getValue()),
      0);
}

AddressAttr BufferIndex::getGradient(StringAttr param) const {
  return getInBucket(param, BufferKind::Grads);
}

AddressAttr BufferIndex::getState(StringAttr param, StringRef state) const {
  return getInBucket(param, BufferKind::State, state);
}

static constexpr size_t getOffset(KeyElement element) {
  return indexOf(element) * sizeof(int64_t);
}
static_assert(getOffset(KeyElement::Seed) == offsetof(ppopt_key, seed) &&
                  getOffset(KeyElement::Step) == offsetof(ppopt_key, step) &&
                  getOffset(KeyElement::Training) ==
                      offsetof(ppopt_key, training) &&
                  getOffset(KeyElement::Microbatch) ==
                      offsetof(ppopt_key, microbatch) &&
                  getOffset(KeyElement::Coordinates) ==
                      offsetof(ppopt_key, coordinates) &&
                  kKeyElements * sizeof(int64_t) == sizeof(ppopt_key),
              "the random key is ppopt_key");

namespace {
/// A field of ppopt_step_state.
struct Field {
  StringLiteral name;
  size_t offset;
  bool isDecided;
};
} // namespace

static constexpr Field kFields[] = {
#define FIELD(NAME, IS_DECIDED)                                                \
  {#NAME, offsetof(ppopt_step_state, NAME), IS_DECIDED}
    FIELD(lr, false),
    FIELD(weight_decay, false),
    FIELD(beta1, false),
    FIELD(beta2, false),
    FIELD(eps, false),
    FIELD(momentum, false),
    FIELD(bias_correction1, false),
    FIELD(bias_correction2, false),
    FIELD(clip, false),
    FIELD(clip_scale, true),
    FIELD(hold, true),
#undef FIELD
};
static_assert(std::size(kFields) * sizeof(double) == sizeof(ppopt_step_state),
              "the table has every field of ppopt_step_state");

static const Field *findField(StringRef name) {
  const auto *found =
      llvm::find_if(kFields, [&](const Field &f) { return f.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

bool pp::isDecidedField(StringRef name) {
  const Field *field = findField(name);
  return field && field->isDecided;
}

/// Returns the offset of a field from the step state.
static std::optional<int64_t> getStepStateField(StringRef name,
                                                int64_t microbatch) {
  if (name == "key")
    return PPOPT_KEY_OFFSET(microbatch);
  if (const Field *field = findField(name))
    return field->offset;
  return std::nullopt;
}

FailureOr<AddressAttr> BufferIndex::getAddress(Operation *run, RoleAttr role,
                                               Type type,
                                               int64_t microbatch) const {
  MLIRContext *context = role.getContext();
  auto at = [&](BufferAttr buffer, int64_t offset) {
    return AddressAttr::get(context, buffer, offset);
  };
  if (BufferAttr whole = getWholeBuffer(role))
    return at(whole, 0);
  StringRef name = role.getName();
  auto key = StringAttr::get(context, name);
  switch (role.getKind()) {
  case RoleKind::Param:
    return getParam(key);
  case RoleKind::Grad:
    if (AddressAttr gradient = getGradient(key))
      return gradient;
    return run->emitOpError("adds to the gradient of '")
               << name << "', which no bucket holds",
           failure();
  case RoleKind::Input:
    return at(BufferAttr::get(context, BufferKind::Input, name),
              microbatch * pp::getBytes(type));
  case RoleKind::StepState:
    if (std::optional<int64_t> field = getStepStateField(name, microbatch))
      return at(BufferAttr::get(context, BufferKind::StepState), *field);
    return run->emitOpError("the step state has no field '") << name << "'",
           failure();
  default:
    llvm_unreachable("in a slot, or a whole buffer");
  }
}
