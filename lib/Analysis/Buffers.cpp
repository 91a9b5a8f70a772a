//===- Buffers.cpp - Where the operands of tasks lie ----------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/runtime.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

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
  case RoleKind::Metric:
    return get(BufferKind::Metric, role.getName());
  case RoleKind::MetricCount:
    return get(BufferKind::MetricCount, role.getName());
  case RoleKind::Proposal:
    return get(BufferKind::Proposal, role.getName());
  case RoleKind::Cache:
    return get(BufferKind::Cache, role.getName());
  case RoleKind::Output:
    return get(BufferKind::Output, role.getName());
  case RoleKind::Param:
  case RoleKind::Grad:
  case RoleKind::Input:
  case RoleKind::StepState:
  case RoleKind::Value:
    return {};
  }
  llvm_unreachable("all roles are listed");
}

BufferAttr pp::getScratchBuffer(BufferAttr buffer) {
  return BufferAttr::get(buffer.getContext(), BufferKind::Scratch, "", "",
                         buffer);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

int64_t ChunkPosition::get(int64_t number) const {
  int64_t position = first;
  for (const Step &step : llvm::reverse(steps)) {
    position += number % step.size * step.step;
    number /= step.size;
  }
  return position;
}

ChunkPosition pp::getChunkPosition(BucketOp bucket, const geometry::Mesh &mesh,
                                   int64_t place) {
  ChunkPosition found;
  if (!bucket.getShardGroup())
    return found;
  geometry::Group group = bucket.getShardGroup()->getGeometry();
  int64_t rank = mesh.firstRank(place).value_or(0);
  auto positionOf = [&](int64_t rank) {
    return mesh.position(group, rank).value_or(0);
  };
  found.first = positionOf(rank);
  for (StringAttr axis : bucket.getShardGroup()->getAxes()) {
    std::string_view name(axis.data(), axis.size());
    if (name != geometry::placeAxis && mesh.size(name) > 1)
      found.steps.push_back(
          {axis, mesh.size(name),
           positionOf(rank + mesh.stride(name)) - found.first});
  }
  return found;
}

int64_t pp::getPlaceChunks(PlanOp plan) {
  geometry::Mesh mesh = plan.getGeometry();
  return mesh.size(mesh.shardAxis());
}

SmallVector<StringAttr> pp::getTileAxes(ParamDeclOp param,
                                        const geometry::Mesh &mesh) {
  SmallVector<StringAttr> cut;
  auto sharding = param->getAttrOfType<ShardingAttr>(kShardingAttr);
  if (!sharding)
    return cut;
  for (const geometry::Axis &axis : mesh)
    for (const DimCut &each : sharding.getCuts())
      if (each.axis == StringRef(axis.name))
        cut.push_back(each.axis);
  return cut;
}

int64_t pp::countChunkRuns(PlanOp plan, TaskOp task) {
  int64_t chunks = getPlaceChunks(plan);
  bool hasAll = task.getKind() == TaskKind::Norm && plan.getZero() == 0;
  return hasAll && chunks > 1 ? chunks : 0;
}

//===----------------------------------------------------------------------===//
// NormLayout
//===----------------------------------------------------------------------===//

NormLayout::NormLayout(ModuleOp module) {
  geometry::Mesh mesh;
  for (auto plan : module.getOps<PlanOp>()) {
    mesh = plan.getGeometry();
    places = plan.getPlaces();
    chunks = getPlaceChunks(plan);
  }
  llvm::StringMap<ParamDeclOp> params;
  for (auto param : module.getOps<ParamDeclOp>())
    params[param.getParamName()] = param;
  for (auto bucket : module.getOps<BucketOp>()) {
    if (bucket.getConstant())
      continue;
    ParamDeclOp param; // all of a bucket are cut over the same axes
    if (!bucket.getParams().empty())
      param = params.lookup(cast<StringAttr>(bucket.getParams()[0]));
    SmallVector<StringAttr> cut;
    if (param)
      cut = getTileAxes(param, mesh);
    auto *known = llvm::find(classes, cut);
    classOf[bucket.getSymName()] = known - classes.begin();
    if (known == classes.end())
      classes.push_back(std::move(cut));
  }
  if (classes.empty())
    classes.emplace_back();
  for (const geometry::Axis &axis : mesh)
    for (const SmallVector<StringAttr> &cut : classes)
      if (const auto *found = llvm::find_if(
              cut,
              [&](StringAttr each) { return each == StringRef(axis.name); });
          found != cut.end()) {
        axes.push_back(*found);
        sizes.push_back(axis.size);
        break;
      }
}

unsigned NormLayout::getClass(BucketOp bucket) const {
  return classOf.lookup(bucket.getSymName());
}

SmallVector<int64_t> NormLayout::getShape() const {
  SmallVector<int64_t> shape = {int64_t(classes.size()), places};
  shape.append(sizes);
  shape.push_back(chunks);
  return shape;
}

int64_t NormLayout::getElements() const {
  return ShapedType::getNumElements(getShape());
}

int64_t NormLayout::getFirst(unsigned classNumber, int64_t place) const {
  int64_t perPlace = getElements() / (int64_t(classes.size()) * places);
  return (classNumber * places + place) * perPlace;
}

int64_t NormLayout::getStride(unsigned axis) const {
  return chunks *
         ShapedType::getNumElements(ArrayRef(sizes).drop_front(axis + 1));
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
  buckets[name] = bucket;
  isSharded |= bucket.hasShardedStates();
  int64_t elements = bucket.getElements();
  int64_t chunk = elements / bucket.getChunks(mesh);
  int64_t updated = bucket.getUpdateElements(mesh);
  add(BufferAttr::get(context, BufferKind::Params, name),
      bucket.hasShardedParams() ? chunk : elements, bucket.getType());
  if (bucket.getConstant())
    return;
  add(BufferAttr::get(context, BufferKind::Grads, name),
      bucket.hasShardedGradients() ? chunk : elements, getGradType(bucket));
  for (StringRef state : states)
    add(BufferAttr::get(context, BufferKind::State, name, state), updated,
        bucket.getType());
  if (!bucket.getOwners())
    return;
  add(BufferAttr::get(context, BufferKind::Master, name), updated,
      bucket.getType());
}

void BufferIndex::addWholeBuffers(TaskOp task) {
  for (const TaskOperand &operand : task.getBoundOperands())
    if (BufferAttr buffer = getWholeBuffer(operand.role)) {
      auto type = cast<ShapedType>(operand.type);
      add(buffer, type.getNumElements(), type.getElementType());
    }
}

BufferIndex::BufferIndex(ModuleOp module) : norm(module) {
  MLIRContext *context = module.getContext();
  Type byte = IntegerType::get(context, 8);
  int64_t dataParallel = 1, microbatches = 1;
  SmallVector<StringRef> states;
  for (auto plan : module.getOps<PlanOp>()) {
    mesh = plan.getGeometry();
    dataParallel = plan.getBatchParts();
    microbatches = plan.getMicrobatches();
    states = getOptimizerStates(plan);
    add(BufferAttr::get(context, BufferKind::Norm), norm.getElements(),
        Float64Type::get(context));
  }
  for (auto bucket : module.getOps<BucketOp>())
    addBucket(bucket, states);
  auto addTensor = [&](BufferAttr buffer, Type type, int64_t parts) {
    auto tensor = cast<ShapedType>(type);
    add(buffer, tensor.getNumElements() / parts, tensor.getElementType());
  };
  for (auto param : module.getOps<ParamDeclOp>())
    if (!bucketOf.contains(param.getParamNameAttr()))
      addTensor(getParam(param.getParamNameAttr()).getBuffer(), param.getType(),
                1);
  for (auto input : module.getOps<InputDeclOp>())
    addTensor(BufferAttr::get(context, BufferKind::Input, input.getInputName()),
              input.getType(), dataParallel);
  add(BufferAttr::get(context, BufferKind::StepState),
      PPOPT_KEY_OFFSET(microbatches), byte);
  add(BufferAttr::get(context, BufferKind::UpdateState),
      sizeof(ppopt_step_state), byte);
  for (auto task : module.getOps<TaskOp>())
    addWholeBuffers(task);
}

BucketOp BufferIndex::getOwned(TaskOp task) const {
  if (task.getKind() != TaskKind::Update)
    return {};
  for (const TaskOperand &operand : task.getBoundOperands())
    if (operand.role.getKind() == RoleKind::GradRange) {
      BucketOp bucket = buckets.lookup(operand.role.getName());
      return bucket && bucket.getOwners() ? bucket : BucketOp();
    }
  return {};
}

std::optional<int64_t> BufferIndex::getBytes(BufferAttr buffer) const {
  auto found = sizes.find(buffer);
  if (found == sizes.end())
    return std::nullopt;
  auto [elements, type] = found->second;
  return elements * getElementBytes(type);
}

AddressAttr BufferIndex::getInBucket(StringAttr param, BufferKind kind,
                                     StringRef state) const {
  auto [bucket, first] = getBucket(param);
  if (!bucket || (bucket.getConstant() && kind != BufferKind::Params))
    return {};
  Type element =
      kind == BufferKind::Grads ? getGradType(bucket) : bucket.getType();
  bool isChunk = kind == BufferKind::Master ? true
                 : kind == BufferKind::State
                     ? bucket.hasShardedStates() || bucket.getOwners()
                 : kind == BufferKind::Grads ? bucket.hasShardedGradients()
                                             : bucket.hasShardedParams();
  MLIRContext *context = param.getContext();
  return AddressAttr::get(
      BufferAttr::get(context, kind, bucket.getSymName(), state),
      isChunk ? 0 : first * getElementBytes(element));
}

/// Returns where the chunk of the place's ranks lies, or one of the chunks that
/// each of them has.
AddressAttr BufferIndex::getChunk(BucketOp bucket, BufferAttr buffer,
                                  int64_t place,
                                  std::optional<int64_t> number) const {
  int64_t bytes = *getBytes(buffer) / bucket.getChunks(mesh);
  ChunkPosition position = getChunkPosition(bucket, mesh, place);
  if (number)
    return AddressAttr::get(buffer, position.get(*number) * bytes);
  SmallVector<StrideAttr> strides;
  for (const ChunkPosition::Step &step : position.steps)
    strides.push_back(
        StrideAttr::get(buffer.getContext(), step.axis, step.step * bytes));
  return AddressAttr::get(buffer.getContext(), buffer, position.first * bytes,
                          strides);
}

/// Returns where the norm has the sum of squares that a task computes of a
/// chunk.
AddressAttr BufferIndex::getNormEntry(BufferAttr buffer, TaskOp task,
                                      std::optional<int64_t> chunk) const {
  constexpr int64_t bytes = sizeof(double);
  unsigned classNumber = 0; // that of all buckets of the task
  for (const TaskOperand &operand : task.getBoundOperands())
    if (operand.role.getKind() == RoleKind::GradRange)
      if (BucketOp bucket = buckets.lookup(operand.role.getName()))
        classNumber = norm.getClass(bucket);
  int64_t first = norm.getFirst(classNumber, task.getPlace()) * bytes;
  MLIRContext *context = buffer.getContext();
  SmallVector<StrideAttr> strides;
  for (auto [i, axis] : llvm::enumerate(norm.getAxes()))
    strides.push_back(
        StrideAttr::get(context, axis, norm.getStride(i) * bytes));
  if (!chunk && norm.getChunks() > 1 && isSharded)
    strides.push_back(StrideAttr::get(
        context, StringAttr::get(context, mesh.shardAxis()), bytes));
  return AddressAttr::get(context, buffer, first + chunk.value_or(0) * bytes,
                          strides);
}

FailureOr<CollectiveOperand> BufferIndex::getOperand(StartOp start,
                                                     int64_t place) const {
  BufferAttr buffer = start.getBuffer();
  auto found = sizes.find(buffer);
  if (found == sizes.end())
    return start.emitOpError(geometry::reduces(start.getKind()) ? "sums "
                                                                : "gathers ")
               << buffer << ", which is of no bucket, and no task adds to it",
           failure();
  auto [elements, type] = found->second;
  if (!start.getShard())
    return CollectiveOperand{AddressAttr::get(buffer, 0), elements, type};
  BucketOp bucket = getBucket(buffer);
  if (!bucket || !bucket.getShardGroup())
    return start.emitOpError("is of a shard of ")
               << buffer << ", which no group of ranks shards",
           failure();
  return CollectiveOperand{getChunk(bucket, buffer, place, std::nullopt),
                           elements / bucket.getChunks(mesh), type};
}

AddressAttr BufferIndex::getParam(StringAttr param) const {
  if (AddressAttr address = getInBucket(param, BufferKind::Params))
    return address;
  return AddressAttr::get(
      BufferAttr::get(param.getContext(), BufferKind::Param, param.getValue()),
      0);
}

AddressAttr BufferIndex::getMaster(StringAttr param) const {
  BucketOp bucket = getBucket(param).bucket;
  return bucket && bucket.getOwners() ? getInBucket(param, BufferKind::Master)
                                      : AddressAttr();
}

AddressAttr BufferIndex::getOwnedGradient(BucketOp bucket) const {
  MLIRContext *context = bucket.getContext();
  auto buffer =
      BufferAttr::get(context, BufferKind::Grads, bucket.getSymName());
  int64_t owners = *bucket.getOwners();
  if (owners == 1)
    return AddressAttr::get(buffer, 0);
  auto axis = StringAttr::get(context, StringRef(geometry::batchAxis));
  return AddressAttr::get(
      context, buffer, 0,
      StrideAttr::get(context, axis, *getBytes(buffer) / owners));
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
static_assert(
    getOffset(KeyElement::Seed) == offsetof(ppopt_key, seed) &&
        getOffset(KeyElement::Step) == offsetof(ppopt_key, step) &&
        getOffset(KeyElement::Training) == offsetof(ppopt_key, training) &&
        getOffset(KeyElement::Microbatch) == offsetof(ppopt_key, microbatch) &&
        getOffset(KeyElement::Coordinates) ==
            offsetof(ppopt_key, coordinates) &&
        getOffset(KeyElement::Rows) == offsetof(ppopt_key, rows) &&
        getOffset(KeyElement::AllRows) == offsetof(ppopt_key, all_rows) &&
        getOffset(KeyElement::Batches) == offsetof(ppopt_key, batches) &&
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
    FIELD(average_weight, false),
    FIELD(clip_scale, true),
    FIELD(hold, true),
    FIELD(norm_squared, true),
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

/// Returns where an update of asynchronous training finds an operand, if not
/// where the step does: it may run while a step is computed.
AddressAttr BufferIndex::getOfOwner(BucketOp bucket, RoleAttr role) const {
  MLIRContext *context = role.getContext();
  switch (role.getKind()) {
  case RoleKind::ParamRange:
    return AddressAttr::get(
        BufferAttr::get(context, BufferKind::Master, role.getName()), 0);
  case RoleKind::GradRange:
    return getOwnedGradient(bucket);
  case RoleKind::StepState:
    if (const Field *field = findField(role.getName()))
      return AddressAttr::get(BufferAttr::get(context, BufferKind::UpdateState),
                              field->offset);
    return {};
  default:
    return {};
  }
}

BucketOp BufferIndex::getBucket(BufferAttr buffer) const {
  switch (buffer.getKind()) {
  case BufferKind::Params:
  case BufferKind::Grads:
  case BufferKind::State:
  case BufferKind::Master:
    return buckets.lookup(buffer.getName());
  default:
    return {};
  }
}

BufferAttr BufferIndex::getBuffer(RoleAttr role) const {
  if (BufferAttr whole = getWholeBuffer(role))
    return whole;
  MLIRContext *context = role.getContext();
  auto name = StringAttr::get(context, role.getName());
  switch (role.getKind()) {
  case RoleKind::Param:
    return getParam(name).getBuffer();
  case RoleKind::Grad: {
    AddressAttr gradient = getGradient(name);
    return gradient ? gradient.getBuffer() : BufferAttr();
  }
  case RoleKind::Input:
    return BufferAttr::get(context, BufferKind::Input, name);
  case RoleKind::StepState:
    return BufferAttr::get(context, BufferKind::StepState);
  default:
    return {};
  }
}

bool BufferIndex::isChunk(const TaskOperand &operand) const {
  RoleKind kind = operand.role.getKind();
  if (kind != RoleKind::ParamRange && kind != RoleKind::GradRange)
    return false;
  BucketOp bucket = buckets.lookup(operand.role.getName());
  return bucket && cast<ShapedType>(operand.type).getNumElements() !=
                       bucket.getElements();
}

FailureOr<AddressAttr>
BufferIndex::getAddress(RunOp run, TaskOp task,
                        const TaskOperand &operand) const {
  FailureOr<AddressAttr> address = findAddress(run, task, operand);
  if (failed(address))
    return failure();
  BufferAttr buffer = address->getBuffer();
  std::optional<int64_t> bytes = getBytes(buffer);
  int64_t end = address->getOffset() + pp::getBytes(operand.type);
  if (!bytes)
    return run->emitOpError("has ") << operand.role << " in " << buffer
                                    << ", which the module does not declare",
           failure();
  if (end > *bytes)
    return run->emitOpError("has ")
               << operand.role << " up to byte " << end << " of " << buffer
               << ", which has " << *bytes,
           failure();
  return address;
}

FailureOr<AddressAttr>
BufferIndex::findAddress(RunOp run, TaskOp task,
                         const TaskOperand &operand) const {
  RoleAttr role = operand.role;
  MLIRContext *context = role.getContext();
  if (BucketOp bucket = getOwned(task))
    if (AddressAttr address = getOfOwner(bucket, role))
      return address;
  std::optional<int64_t> chunk = run.getChunk();
  auto type = cast<ShapedType>(operand.type);
  if (BufferAttr whole = getWholeBuffer(role)) {
    if (role.getKind() == RoleKind::Norm && task.getKind() == TaskKind::Norm)
      return getNormEntry(whole, task, chunk);
    BucketOp bucket = buckets.lookup(role.getName());
    bool isRange = role.getKind() == RoleKind::ParamRange ||
                   role.getKind() == RoleKind::GradRange;
    auto buffer = sizes.find(whole);
    bool isPart =
        buffer != sizes.end() && type.getNumElements() != buffer->second.first;
    if (isRange && bucket && isPart)
      return getChunk(bucket, whole, task.getPlace(), chunk);
    return AddressAttr::get(whole, 0);
  }
  StringRef name = role.getName();
  auto key = StringAttr::get(context, name);
  int64_t microbatch = run.getMicrobatch();
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
    return AddressAttr::get(getBuffer(role), microbatch * pp::getBytes(type));
  case RoleKind::StepState:
    if (std::optional<int64_t> field = getStepStateField(name, microbatch))
      return AddressAttr::get(getBuffer(role), *field);
    return run->emitOpError("the step state has no field '") << name << "'",
           failure();
  default:
    llvm_unreachable("in a slot, or a whole buffer");
  }
}
