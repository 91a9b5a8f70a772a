//===- PlanOps.cpp - The plan, buckets and the schedule -------------------===//

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanContradiction.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/TaskValues.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

geometry::Mesh PlanOp::getGeometry() {
  geometry::Mesh mesh;
  for (auto axis : getMesh().getAsRange<MeshAxisAttr>())
    mesh.add({axis.getName().str(), axis.getSize()});
  return mesh;
}

geometry::Mesh PlanOp::getJobMesh() {
  geometry::Mesh mesh;
  for (const geometry::Axis &axis : getGeometry())
    mesh.add({axis.name, axis.name == geometry::batchAxis
                             ? axis.size * getTrainers()
                             : axis.size});
  return mesh;
}

PlanChoices PlanOp::getChoices() {
  PlanChoices choices;
#define PLAN_CHOICE(FIELD, TYPE, ...)                                          \
  if (auto word = (*this)->getAttrOfType<StringAttr>(#FIELD))                  \
    choices.FIELD = parseChoice<TYPE>(word.getValue()).value_or(choices.FIELD);
#define PLAN_SWITCH(FIELD, ...) choices.FIELD = (*this)->hasAttr(#FIELD);
#define PLAN_LEVEL(FIELD, ...)                                                 \
  if (auto level = (*this)->getAttrOfType<IntegerAttr>(#FIELD))                \
    choices.FIELD = level.getInt();
#define PLAN_NUMBER(FIELD, ...)                                                \
  if (auto number = (*this)->getAttrOfType<IntegerAttr>(#FIELD))               \
    choices.FIELD = number.getInt();
#define PLAN_BYTES(FIELD, NAME, KEY, ...)                                      \
  if (auto bytes = (*this)->getAttrOfType<IntegerAttr>(#KEY))                  \
    choices.FIELD = bytes.getInt();
#include "schema/plan_options.def"
  return choices;
}

void PlanOp::setChoices(const PlanChoices &choices) {
  Builder builder(getContext());
  const PlanChoices defaults;
  auto set = [&](StringRef name, bool isDefault, Attribute value) {
    if (isDefault)
      (*this)->removeAttr(name);
    else
      (*this)->setAttr(name, value);
  };
#define PLAN_CHOICE(FIELD, ...)                                                \
  set(#FIELD, choices.FIELD == defaults.FIELD,                                 \
      builder.getStringAttr(schema::spell(choices.FIELD)));
#define PLAN_SWITCH(FIELD, ...)                                                \
  set(#FIELD, !choices.FIELD, builder.getUnitAttr());
#define PLAN_LEVEL(FIELD, ...)                                                 \
  set(#FIELD, choices.FIELD == defaults.FIELD,                                 \
      builder.getI64IntegerAttr(choices.FIELD));
#define PLAN_NUMBER(FIELD, ...)                                                \
  set(#FIELD, choices.FIELD == defaults.FIELD,                                 \
      builder.getI64IntegerAttr(choices.FIELD));
#define PLAN_BYTES(FIELD, NAME, KEY, ...)                                      \
  set(#KEY, choices.FIELD == defaults.FIELD,                                   \
      builder.getI64IntegerAttr(choices.FIELD));
#include "schema/plan_options.def"
}

template <typename E>
static LogicalResult verifyChoice(PlanOp plan, NamedAttribute attr) {
  auto word = dyn_cast<StringAttr>(attr.getValue());
  if (word && parseChoice<E>(word.getValue()))
    return success();
  InFlightDiagnostic diag = plan.emitOpError();
  diag << attr.getName().getValue() << " is ";
  if (word)
    diag << "'" << word.getValue() << "'";
  else
    diag << attr.getValue();
  return diag << ", not one of " << schema::listWords<E>();
}

/// Verifies an attribute that ODS does not know.
static LogicalResult verifyOption(PlanOp plan, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
#define PLAN_CHOICE(FIELD, TYPE, ...)                                          \
  if (name == #FIELD)                                                          \
    return verifyChoice<TYPE>(plan, attr);
#define PLAN_SWITCH(FIELD, ...)                                                \
  if (name == #FIELD)                                                          \
    return isa<UnitAttr>(attr.getValue())                                      \
               ? success()                                                     \
               : plan.emitOpError() << name << " takes no value";
#define PLAN_LEVEL(FIELD, NAME, MOST, ...)                                     \
  if (name == #FIELD) {                                                        \
    auto level = dyn_cast<IntegerAttr>(attr.getValue());                       \
    return level && level.getType().isSignlessInteger(64) &&                   \
                   level.getInt() >= 0 && level.getInt() <= (MOST)             \
               ? success()                                                     \
               : plan.emitOpError()                                            \
                     << name << " is not an i64 from 0 to " << (MOST);         \
  }
#define PLAN_NUMBER(FIELD, ...)                                                \
  if (name == #FIELD) {                                                        \
    auto number = dyn_cast<IntegerAttr>(attr.getValue());                      \
    return number && number.getType().isSignlessInteger(64) &&                 \
                   number.getInt() >= 1 &&                                     \
                   number.getInt() <= schema::mostPlanNumber                   \
               ? success()                                                     \
               : plan.emitOpError() << name << " is not an i64 from 1 to "     \
                                    << schema::mostPlanNumber;                 \
  }
#define PLAN_BYTES(FIELD, NAME, KEY, ...)                                      \
  if (name == #KEY) {                                                          \
    auto bytes = dyn_cast<IntegerAttr>(attr.getValue());                       \
    return bytes && bytes.getType().isSignlessInteger(64) &&                   \
                   bytes.getInt() > 0                                          \
               ? success()                                                     \
               : plan.emitOpError() << name << " is not a positive i64";       \
  }
#include "schema/plan_options.def"
  if (name.contains('.'))
    return success(); // of another dialect
  return plan.emitOpError() << "has no option '" << name << "'";
}

/// Trainers are what the batch's axis is to the job, and nothing else.
static LogicalResult verifyTrainers(PlanOp plan) {
  bool isAsynchronous = plan.getSync() != Sync::step;
  if (plan.getTrainers() < 1 || (plan.getTrainers() > 1 && !isAsynchronous))
    return plan.emitOpError("has ")
           << plan.getTrainers() << " trainers, and sync is "
           << schema::spell(plan.getSync());
  if (!isAsynchronous)
    return success();
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>())
    if (axis.getSize() > 1 &&
        geometry::useOf(axis.getName()) != geometry::AxisUse::Places)
      return plan.emitOpError("--sync ")
             << schema::spell(plan.getSync())
             << " takes the axes dp and pp: copies of parameters along "
             << axis.getName() << "=" << axis.getSize()
             << " would be updated in different orders; leave "
             << axis.getName() << " out of --mesh";
  return success();
}

/// A local launch runs one copy of each place.
static LogicalResult verifyLaunch(PlanOp plan) {
  if (plan.getLaunch() != Launch::local)
    return success();
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>())
    if (axis.getSize() > 1 &&
        geometry::useOf(axis.getName()) != geometry::AxisUse::Places)
      return plan.emitOpError("--launch local runs all places in one process, "
                              "each of them once, and the mesh has ")
             << axis.getName() << "=" << axis.getSize() << "; leave "
             << axis.getName() << " out of --mesh";
  return success();
}

LogicalResult PlanOp::verify() {
  if (std::string wrong = getGeometry().check(); !wrong.empty())
    return emitOpError(wrong);
  for (auto axis : getMesh().getAsRange<MeshAxisAttr>())
    if (axis.getName() == kMicrobatchAxis)
      return emitOpError("the mesh has an axis '")
             << kMicrobatchAxis << "', which is the name of the axis of "
             << "microbatches; give it another name";
  if (getBatch() < 1 || getMicrobatches() < 1 || getTarget().getThreads() < 1)
    return emitOpError("batch, microbatches and threads are at least 1");
  if (getBatch() % getBatchTiles() != 0) {
    InFlightDiagnostic diag = emitOpError("batch of ")
                              << getBatch() << " rows is not divided by ";
    for (const geometry::Axis &axis : getGeometry())
      if (geometry::useOf(axis.name) == geometry::AxisUse::Batch)
        diag << axis.name << " " << axis.size << " x ";
    return diag << "microbatches " << getMicrobatches()
                << "; choose --batch a multiple of " << getBatchTiles();
  }
  for (NamedAttribute attr : (*this)->getDiscardableAttrs())
    if (failed(verifyOption(*this, attr)))
      return failure();
  if (std::string wrong = findContradiction(getChoices()); !wrong.empty())
    return emitOpError(wrong);
  if (failed(verifyTrainers(*this)))
    return failure();
  return verifyLaunch(*this);
}

LogicalResult BucketOp::verify() {
  if (getParams().size() != getOffsets().size())
    return emitOpError("has ") << getParams().size() << " parameters and "
                               << getOffsets().size() << " offsets";
  if (!llvm::is_sorted(getOffsets()))
    return emitOpError("offsets are not increasing");
  if (getBorrowed() && getPlaces().size() < 2)
    return emitOpError("is borrowed, and no place but its owner holds it");
  if (!getOffsets().empty() && getOffsets().back() >= getElements())
    return emitOpError("an offset is beyond its ")
           << getElements() << " elements";
  if (getOwners() && (getShardGroup() || getReplicaGroup() || getBorrowed()))
    return emitOpError("has owners, and ranks that sum its gradients");
  if (getOwners() && (*getOwners() < 1 || getElements() % *getOwners() != 0))
    return emitOpError("has ") << getElements() << " elements, which "
                               << *getOwners() << " owners do not divide";
  if (getConstant() && !hasShardedParams())
    return emitOpError("is constant, and ranks have all of it: leave its "
                       "parameters in no bucket");
  if (getConstant() && (getOwners() || getReplicaGroup() || getBorrowed()))
    return emitOpError("is constant: no ranks sum or update it");
  if (getSharded() && !getShardGroup())
    return emitOpError("is sharded, and has no shard_group");
  if (hasShardedGradients() && getBorrowed())
    return emitOpError("is borrowed, and its gradients are sharded");
  return success();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

OperandRange ScheduleOp::getYielded() {
  Block &body = getBody().front();
  if (body.empty() || !isa<YieldOp>(body.back()))
    return OperandRange(nullptr, 0);
  return body.back().getOperands();
}

int64_t StartOp::getPlaceOfStart() {
  return getPlace().value_or(
      cast<ScheduleOp>((*this)->getParentOp()).getPlace());
}

/// A start of a local schedule says of which place it is.
LogicalResult ScheduleOp::verify() {
  for (auto start : getOps<StartOp>()) {
    if (start.getKind() == ::ppopt::geometry::Collective::AllToAll ||
        start.getKind() == ::ppopt::geometry::Collective::AllReduceMax)
      return start.emitOpError("starts an ")
             << ::ppopt::geometry::wordOf(start.getKind())
             << ", which only tasks make of their values";
    if (start.getPlace().has_value() == isLocal())
      continue;
    return isLocal() ? start.emitOpError("must say on which place it is: the "
                                         "schedule is of all places")
                     : start.emitOpError("says that it is on place ")
                           << *start.getPlace()
                           << ": only a local schedule's starts do";
  }
  if (isLocal() != getSlotPlaces().has_value())
    return emitOpError("must have slot_places if it is local, and only then");
  if (isLocal() && getSlotPlaces()->size() != getSlots().size())
    return emitOpError("has ") << getSlots().size() << " slots, and "
                               << getSlotPlaces()->size() << " slot_places";
  return success();
}

LogicalResult StartOp::verify() {
  if (gathersParameters())
    return getKind() == geometry::Collective::AllGather && !getShard()
               ? success()
               : emitOpError("is of parameters, and no all_gather of them");
  if (isSummed(getBuffer()))
    return success();
  return emitOpError("is of ")
         << getBuffer() << "; it can be of grads, loss, global, norm or params";
}

/// Verifies that what is in flight has one wait, or is left to the next
/// schedule.
static LogicalResult verifyWaits(Value started, Operation *start) {
  if (!isa<TokenType, FutureType>(started.getType()))
    return success();
  if (started.use_empty())
    return start->emitOpError("is never waited for");
  if (started.hasOneUse()) {
    Operation *user = *started.user_begin();
    if (isa<WaitOp>(user))
      return success();
    // What another schedule waits for lies in memory that outlives this one.
    if (isa<YieldOp>(user) &&
        isa_and_present<StartOp, DoneOp>(started.getDefiningOp()))
      return success();
    return user->emitOpError("leaves in flight what a wait must complete");
  }
  InFlightDiagnostic diag = start->emitOpError("is waited for ")
                            << llvm::range_size(started.getUses()) << " times";
  diag.attachNote((*started.user_begin())->getLoc()) << "here";
  return diag;
}

LogicalResult ScheduleOp::verifyRegions() {
  Block &body = getBody().front();
  for (Value argument : body.getArguments())
    if (!isa<TokenType>(argument.getType()))
      return emitOpError("takes ")
             << argument.getType()
             << "; what a step leaves in flight are tokens";
    else if (failed(verifyWaits(argument, *this)))
      return failure();
  for (Operation &action : body) {
    if (!isa<RunOp, ZeroOp, StartOp, SendOp, RecvOp, WaitOp, DoneOp, CopyOp,
             CopyBucketOp, YieldOp>(action))
      return action.emitOpError("is no action of a schedule");
    bool isCopy = isa<CopyOp, CopyBucketOp>(action);
    if ((isCopy && !isLocal()) || (isa<SendOp, RecvOp>(action) && isLocal()))
      return action.emitOpError(isLocal()
                                    ? "is an end of a copy, and one process "
                                      "has both: it copies"
                                    : "has both ends: a place has one, a send "
                                      "or a receive");
    if (auto recv = dyn_cast<RecvOp>(action);
        recv && recv.getSlot() && isa<TokenType>(recv.getStarted().getType()))
      return recv.emitOpError("has a slot, and brings no value");
    for (Value result : action.getResults())
      if (failed(verifyWaits(result, &action)))
        return failure();
  }
  for (Value left : getYielded())
    if (!isa<TokenType>(left.getType()))
      return body.back().emitOpError("leaves ")
             << left.getType() << " in flight; only tokens are";
  if (getYielded().size() == body.getNumArguments())
    return success();
  return emitOpError("takes ") << body.getNumArguments()
                               << " tokens and yields " << getYielded().size();
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  if (operands.size() != 1)
    return failure();
  if (auto future = dyn_cast<FutureType>(operands[0].getType()))
    types.push_back(future.getValue());
  return success();
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<TaskOp>(*this, getTaskAttr());
  if (!task)
    return emitOpError("runs ") << getTaskAttr() << ", which is not a task";
  if (failed(
          verifyValues(*this, task, getValues().getTypes(), getResultTypes())))
    return failure();
  if (getSlots() && getSlots()->size() != getNumResults())
    return emitOpError("has ") << getSlots()->size() << " slots, and "
                               << getNumResults() << " results";
  return success();
}
