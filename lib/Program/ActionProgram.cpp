//===- ActionProgram.cpp - The actions of the program ---------------------===//

#include "ActionProgram.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/EvaluationParts.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The channel of all transfers; sums have channels of their own.
constexpr int64_t kTransferChannel = 0;

/// Returns whether a run is an update of asynchronous training, which is no
/// part of the step.
bool isOfOwner(RunOp run, const ProgramIndex &index) {
  return bool(index.buffers.getOwned(index.step.getTask(run)));
}

/// Returns where the arena has a value that is in a slot.
FailureOr<int64_t> getSlotOffset(Operation *action, Value value,
                                 const ArenaLayout &layout) {
  std::optional<int64_t> slot = getSlot(getHolder(value));
  if (!slot)
    return action->emitOpError("has values without slots; run "
                               "--pp-assign-slots before"),
           failure();
  return layout.getSlotOffset(action, *slot);
}

/// Describes a run, whose temporaries lie in the region `temps`.
FailureOr<schema::Action> describeRun(RunOp run, const ProgramIndex &index,
                                      const ArenaLayout &layout,
                                      BufferKind temps) {
  schema::Action action;
  action.kind = schema::ActionKind::run;
  action.task = index.tables.getTask(run.getTask());
  action.microbatch = run.getMicrobatch();
  // The values that it takes come before those that it makes.
  SmallVector<Value> values(run.getValues());
  llvm::append_range(values, run.getResults());
  const auto *value = values.begin();
  TaskOp task = index.step.getTask(run);
  for (const TaskOperand &operand : index.step.getOperands(task)) {
    if (isValue(operand.role.getKind())) {
      FailureOr<int64_t> offset = getSlotOffset(run, *value++, layout);
      if (failed(offset))
        return failure();
      action.arguments.push_back(*offset);
      continue;
    }
    FailureOr<AddressAttr> address =
        index.buffers.getAddress(run, task, operand);
    if (failed(address))
      return failure();
    FailureOr<schema::Address> found = layout.getAddress(run, *address);
    if (failed(found))
      return failure();
    action.arguments.push_back(std::move(*found));
  }
  FailureOr<int64_t> region = layout.getRegion(temps, run.getLoc());
  if (failed(region))
    return failure();
  action.temporaries = *region;
  return action;
}

/// Numbers what a schedule starts, in its order: by the start, or by a copy,
/// whose receive has the number and whose send the next one.
DenseMap<Operation *, int64_t> numberStarts(ScheduleOp schedule) {
  DenseMap<Operation *, int64_t> ids;
  int64_t next = 0;
  for (Operation &action : schedule.getBody().front()) {
    bool isCopy = isa<CopyOp, CopyBucketOp>(action);
    if (!isCopy && !isa<StartOp, SendOp, RecvOp>(action))
      continue;
    ids[&action] = next;
    next += isCopy ? 2 : 1;
  }
  return ids;
}

/// Describes the actions of one schedule.
class ActionWriter {
public:
  /// `training` is the schedule of training of the same places.
  ActionWriter(ScheduleOp schedule, ScheduleOp training, PlanOp plan,
               const ProgramIndex &index, ArrayRef<ArenaLayout> layouts)
      : schedule(schedule), plan(plan), index(index), layouts(layouts),
        ids(numberStarts(schedule)) {
    if (!training)
      return;
    DenseMap<Operation *, int64_t> started = numberStarts(training);
    for (Value token : training.getYielded())
      carried.push_back(started.lookup(token.getDefiningOp()));
  }

  FailureOr<std::vector<schema::Action>> write();

private:
  /// Memory on its place that is dead after an action, by value; null: the
  /// temporaries of a run.
  struct Dead {
    Value holder;
    schema::DeadRange range;
  };

  /// The place of an action, whose arena its offsets refer to. Actions of all
  /// places of a local schedule are on the first.
  int64_t getPlace(Operation &action) {
    return schedule.isLocal() && isa<ZeroOp>(action)
               ? 0
               : index.step.getPlace(&action);
  }
  int64_t getId(Value started);
  LogicalResult write(Operation &action);
  LogicalResult writeCopy(Operation &copy);
  FailureOr<schema::Action> describeStart(StartOp start);
  FailureOr<schema::Action> describeEnd(Operation *action, const StepCopy &copy,
                                        schema::Operation op,
                                        int64_t microbatch, Value value);
  schema::Action describeWait(int64_t id);
  LogicalResult findDead();
  void add(schema::Action action, int64_t place);
  void addZeros(int64_t place);
  std::vector<schema::DeadRange> takeDead(Operation &action,
                                          llvm::function_ref<bool(Value)> of);

  ScheduleOp schedule;
  PlanOp plan;
  const ProgramIndex &index;
  ArrayRef<ArenaLayout> layouts;
  std::vector<schema::Action> actions;
  /// The numbers of starts, and of what the step before has left in flight.
  DenseMap<Operation *, int64_t> ids;
  SmallVector<int64_t> carried;
  DenseMap<Operation *, std::vector<Dead>> dead;
};

int64_t ActionWriter::getId(Value started) {
  if (auto argument = dyn_cast<BlockArgument>(started))
    return carried[argument.getArgNumber()];
  return ids.lookup(started.getDefiningOp());
}

FailureOr<schema::Action> ActionWriter::describeStart(StartOp start) {
  int64_t place = start.getPlaceOfStart();
  const ArenaLayout &layout = layouts[place];
  FailureOr<CollectiveOperand> operand = index.buffers.getOperand(start, place);
  if (failed(operand))
    return failure();
  FailureOr<schema::Address> address =
      layout.getAddress(start, operand->address);
  if (failed(address))
    return failure();
  schema::Action action;
  action.kind = schema::ActionKind::start;
  action.id = getId(start.getToken());
  action.op = static_cast<schema::Operation>(start.getKind());
  auto [axes, among] = start.getGroup().getGeometry();
  action.axes = std::move(axes);
  action.among = std::move(among);
  action.channel = start.getChannel();
  action.address = std::move(*address);
  action.elements = operand->elements;
  action.type = getSchemaType(operand->type);
  action.scratchBytes = getScratchBytes(start, plan, *operand);
  if (action.scratchBytes == 0)
    return action;
  FailureOr<int64_t> scratch =
      layout.getRegion(getScratchBuffer(start.getBuffer()), start.getLoc());
  if (failed(scratch))
    return failure();
  action.scratch = *scratch;
  return action;
}

/// Describes the end of a copy that sends, or receives, a value; null if it
/// lies in the bucket's buffer.
FailureOr<schema::Action> ActionWriter::describeEnd(Operation *end,
                                                    const StepCopy &copy,
                                                    schema::Operation op,
                                                    int64_t microbatch,
                                                    Value value) {
  bool isSend = op == schema::Operation::send;
  const ArenaLayout &layout = layouts[isSend ? copy.from : copy.to];
  FailureOr<int64_t> offset =
      value ? getSlotOffset(end, value, layout)
            : layout.getRegion(copy.getBuffer(), end->getLoc());
  if (failed(offset))
    return failure();
  schema::Action action;
  action.kind = schema::ActionKind::start;
  action.op = op;
  action.transfer = index.tables.getTransfer(copy.id);
  action.microbatch = microbatch;
  action.peer = isSend ? copy.to : copy.from;
  action.channel = kTransferChannel;
  action.address = *offset;
  action.bytes = getBytes(copy.type);
  return action;
}

schema::Action ActionWriter::describeWait(int64_t id) {
  schema::Action action;
  action.kind = schema::ActionKind::wait;
  action.id = id;
  return action;
}

void ActionWriter::add(schema::Action action, int64_t place) {
  if (schedule.isLocal())
    action.place = place;
  actions.push_back(std::move(action));
}

/// Zeroes what accumulates over microbatches: gradients and scalars.
void ActionWriter::addZeros(int64_t place) {
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end == begin)
      return;
    schema::Action zero;
    zero.kind = schema::ActionKind::zero;
    zero.address = begin;
    zero.bytes = end - begin;
    add(zero, place);
  };
  for (RegionOp region : layouts[place].getRegions()) {
    BufferKind kind = region.getBuffer().getKind();
    bool isScalar = region.getKind() == MemoryKind::StepState &&
                    kind != BufferKind::StepState &&
                    kind != BufferKind::UpdateState;
    if (!isScalar && region.getKind() != MemoryKind::Gradients)
      continue;
    int64_t offset = region.getOffset();
    if (offset != end) {
      flush();
      begin = offset;
    }
    end = offset + region.getBytes();
  }
  flush();
}

/// Finds values whose life in a slot ends, and the temporaries of a run.
LogicalResult ActionWriter::findDead() {
  SmallVector<Operation *> list;
  for (Operation &action : schedule.getBody().front())
    list.push_back(&action);
  for (const SlotLifetime &life : findLifetimes(schedule, index.step)) {
    FailureOr<int64_t> offset =
        getSlotOffset(list[life.begin], life.holder, layouts[life.place]);
    if (failed(offset))
      return failure();
    dead[list[life.end]].push_back({life.holder, {*offset, life.bytes}});
  }
  for (auto run : schedule.getOps<RunOp>()) {
    if (isOfOwner(run, index))
      continue;
    int64_t bytes = index.step.getTask(run).getTempBytes().value_or(0);
    FailureOr<int64_t> temps =
        layouts[getPlace(*run)].getRegion(BufferKind::Temps, run.getLoc());
    if (failed(temps))
      return failure();
    if (bytes > 0)
      dead[run].push_back({Value(), {*temps, bytes}});
  }
  return success();
}

/// Returns the memory that is dead after an action, of the values that are
/// asked for.
std::vector<schema::DeadRange>
ActionWriter::takeDead(Operation &action, llvm::function_ref<bool(Value)> of) {
  std::vector<schema::DeadRange> ranges;
  auto found = dead.find(&action);
  if (found != dead.end())
    for (const Dead &each : found->second)
      if (of(each.holder))
        ranges.push_back(each.range);
  return ranges;
}

/// Both ends of a copy of a local schedule start, and are waited for.
LogicalResult ActionWriter::writeCopy(Operation &op) {
  const StepCopy &copy = *index.step.getCopy(&op);
  int64_t microbatch = getMicrobatch(&op).value_or(0);
  Value from = op.getNumOperands() ? op.getOperand(0) : Value();
  Value to = op.getNumResults() ? Value(op.getResult(0)) : Value();
  FailureOr<schema::Action> recv =
                                describeEnd(&op, copy, schema::Operation::recv,
                                            microbatch, to),
                            send =
                                describeEnd(&op, copy, schema::Operation::send,
                                            microbatch, from);
  if (failed(recv) || failed(send))
    return failure();
  recv->id = ids.lookup(&op);
  send->id = recv->id + 1;
  schema::Action sent = describeWait(send->id),
                 received = describeWait(recv->id);
  sent.dead = takeDead(op, [&](Value holder) { return holder != to; });
  received.dead = takeDead(op, [&](Value holder) { return holder == to; });
  add(std::move(*recv), copy.to);
  add(std::move(*send), copy.from);
  add(std::move(sent), copy.from);
  add(std::move(received), copy.to);
  return success();
}

LogicalResult ActionWriter::write(Operation &op) {
  if (isa<CopyOp, CopyBucketOp>(op))
    return writeCopy(op);
  int64_t place = getPlace(op);
  auto describe = [&]() -> FailureOr<schema::Action> {
    if (auto run = dyn_cast<RunOp>(op))
      return describeRun(run, index, layouts[place], BufferKind::Temps);
    if (auto start = dyn_cast<StartOp>(op))
      return describeStart(start);
    auto describeStarted = [&](auto end, schema::Operation kind, Value value) {
      FailureOr<schema::Action> action =
          describeEnd(end, *index.step.getCopy(end), kind,
                      end.getMicrobatch().value_or(0), value);
      if (succeeded(action))
        action->id = getId(op.getResult(0));
      return action;
    };
    if (auto send = dyn_cast<SendOp>(op))
      return describeStarted(send, schema::Operation::send, send.getValue());
    if (auto recv = dyn_cast<RecvOp>(op))
      return describeStarted(recv, schema::Operation::recv,
                             isa<FutureType>(recv.getStarted().getType())
                                 ? recv.getStarted()
                                 : Value());
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait)
      return op.emitOpError("is not an action of a program"), failure();
    schema::Action action = describeWait(getId(wait.getStarted()));
    action.carried = wait.isCarried();
    return action;
  };
  FailureOr<schema::Action> action = describe();
  if (failed(action))
    return failure();
  action->dead = takeDead(op, [](Value) { return true; });
  add(std::move(*action), place);
  return success();
}

FailureOr<std::vector<schema::Action>> ActionWriter::write() {
  if (failed(findDead()))
    return failure();
  DenseSet<Operation *> partBegins;
  if (schedule.getEvaluation()) {
    FailureOr<SmallVector<Operation *>> firsts =
        findEvaluationParts(schedule, index.step);
    if (failed(firsts))
      return failure();
    partBegins.insert_range(llvm::drop_begin(*firsts));
  }
  for (Operation &op : schedule.getBody().front()) {
    if (isa<ZeroOp>(op)) {
      for (int64_t each = 0, e = layouts.size(); each < e; ++each)
        if (schedule.isOf(each))
          addZeros(each);
      continue;
    }
    if (isa<DoneOp, YieldOp>(op))
      continue;
    if (auto run = dyn_cast<RunOp>(op); run && isOfOwner(run, index))
      continue;
    size_t first = actions.size();
    if (failed(write(op)))
      return failure();
    actions[first].beginsPart = partBegins.contains(&op);
  }
  return std::move(actions);
}

} // namespace

FailureOr<schema::LocalActions>
pp::describeActions(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                    const ProgramIndex &index, ArrayRef<ArenaLayout> layouts) {
  schema::LocalActions lists;
  const auto *training = llvm::find_if(
      schedules, [](ScheduleOp each) { return each.isTraining(); });
  for (ScheduleOp schedule : schedules) {
    FailureOr<std::vector<schema::Action>> actions =
        ActionWriter(schedule,
                     training == schedules.end() ? ScheduleOp() : *training,
                     plan, index, layouts)
            .write();
    if (failed(actions))
      return failure();
    (schedule.getEvaluation() ? lists.evalActions
     : schedule.getAverage()  ? lists.averageActions
                              : lists.actions) = std::move(*actions);
  }
  return lists;
}

FailureOr<std::vector<schema::OwnedBucket>>
pp::describeUpdates(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                    const ProgramIndex &index, const ArenaLayout &layout) {
  std::vector<schema::OwnedBucket> updates;
  auto getOffset = [&](RunOp run, BufferKind kind, BucketOp bucket) {
    return layout.getRegion(
        BufferAttr::get(run.getContext(), kind, bucket.getSymName()),
        run.getLoc());
  };
  for (ScheduleOp schedule : schedules)
    for (auto run : schedule.getOps<RunOp>()) {
      TaskOp task = index.step.getTask(run);
      BucketOp bucket = index.buffers.getOwned(task);
      if (!bucket)
        continue;
      FailureOr<schema::Action> action =
          describeRun(run, index, layout, BufferKind::UpdateTemps);
      FailureOr<int64_t> working = getOffset(run, BufferKind::Params, bucket),
                         gradients = getOffset(run, BufferKind::Grads, bucket),
                         master = getOffset(run, BufferKind::Master, bucket);
      if (failed(action) || failed(working) || failed(gradients) ||
          failed(master))
        return failure();
      schema::OwnedBucket &update = updates.emplace_back();
      update.elements = bucket.getElements();
      update.type = getSchemaType(bucket.getType());
      update.gradientType = getSchemaType(getGradType(bucket));
      update.working = *working;
      update.gradients = *gradients;
      update.master = *master;
      update.task = action->task;
      update.arguments = std::move(action->arguments);
      update.temporaries = std::move(action->temporaries);
      for (auto [number, operand] :
           llvm::enumerate(index.step.getOperands(task)))
        if (operand.role.getKind() == RoleKind::GradRange)
          update.gradientArgument = int64_t(number);
    }
  return updates;
}
