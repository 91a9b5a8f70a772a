//===- ActionProgram.cpp - The actions of the program ---------------------===//

#include "ActionProgram.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/EvaluationParts.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The channel of all transfers; sums have channels of their own.
constexpr int64_t kTransferChannel = 0;

/// Returns whether a run is an update of asynchronous training, which is no
/// part of the step.
bool isOfOwner(RunOp run, const ProgramIndex &index) {
  return bool(index.buffers.getOwned(index.uses.getTask(run)));
}

/// Describes a run, whose temporaries lie in the region `temps`.
FailureOr<schema::Action> describeRun(RunOp run, const ProgramIndex &index,
                                      const ArenaLayout &layout,
                                      BufferKind temps) {
  schema::Action action;
  action.kind = schema::ActionKind::run;
  action.task = index.tables.getTask(run.getTask());
  action.microbatch = run.getMicrobatch();
  for (Attribute binding : run.getBindingsAttr()) {
    FailureOr<schema::Address> address = layout.getAddress(run, binding);
    if (failed(address))
      return failure();
    action.arguments.push_back(std::move(*address));
  }
  FailureOr<int64_t> region = layout.getRegion(temps, run.getLoc());
  if (failed(region))
    return failure();
  action.temporaries = *region;
  return action;
}

/// Describes the actions of one schedule.
class ActionWriter {
public:
  ActionWriter(ScheduleOp schedule, PlanOp plan, const ProgramIndex &index,
               ArrayRef<ArenaLayout> layouts)
      : schedule(schedule), plan(plan), index(index), layouts(layouts) {
    findPlaces();
  }

  FailureOr<std::vector<schema::Action>> write();

private:
  void findPlaces();
  int64_t getPlace(Operation &action) { return places.lookup(&action); }
  FailureOr<schema::Address> getAddress(Operation *action, const SlotUse &use);
  FailureOr<schema::Action> describe(Operation &action, int64_t place);
  FailureOr<schema::Action> describeStart(StartOp start);
  template <typename OpT>
  FailureOr<schema::Action> describeTransfer(OpT end, schema::Operation op,
                                             int64_t peer);
  LogicalResult findDead();
  void add(schema::Action action, int64_t place);
  void addZeros(int64_t place);

  ScheduleOp schedule;
  PlanOp plan;
  const ProgramIndex &index;
  ArrayRef<ArenaLayout> layouts;
  std::vector<schema::Action> actions;
  /// The place of each action, whose arena its offsets refer to.
  DenseMap<Operation *, int64_t> places;
  /// Memory on its place that is dead after an action.
  DenseMap<Operation *, std::vector<schema::DeadRange>> dead;
};

/// A wait is on the place of what it waits for. Actions of all places of a
/// local schedule are on the first.
void ActionWriter::findPlaces() {
  DenseMap<int64_t, int64_t> started; // by id
  auto getPlace = [&](Operation &action) -> int64_t {
    if (!schedule.isLocal())
      return schedule.getPlace();
    if (auto wait = dyn_cast<WaitOp>(action))
      return started.lookup(wait.getId());
    if (auto run = dyn_cast<RunOp>(action))
      return index.uses.getPlace(run);
    if (auto send = dyn_cast<SendOp>(action))
      return started[send.getId()] = index.uses.getPlace(send);
    if (auto recv = dyn_cast<RecvOp>(action))
      return started[recv.getId()] = index.uses.getPlace(recv);
    if (auto start = dyn_cast<StartOp>(action))
      return started[start.getId()] = SlotUses::getPlace(start);
    return 0;
  };
  for (Operation &action : schedule.getBody().front())
    places[&action] = getPlace(action);
}

/// Returns where a transfer reads or writes a value.
FailureOr<schema::Address> ActionWriter::getAddress(Operation *action,
                                                    const SlotUse &use) {
  return layouts[use.place].getAddress(action, getBinding(action, use));
}

FailureOr<schema::Action> ActionWriter::describeStart(StartOp start) {
  int64_t place = SlotUses::getPlace(start);
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
  action.id = start.getId();
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
      layout.getRegion(getScratchBuffer(start.getWhat()), start.getLoc());
  if (failed(scratch))
    return failure();
  action.scratch = *scratch;
  return action;
}

/// Describes a send or a receive.
template <typename OpT>
FailureOr<schema::Action>
ActionWriter::describeTransfer(OpT end, schema::Operation op, int64_t peer) {
  FailureOr<schema::Address> address = getAddress(end, index.uses.of(end));
  if (failed(address))
    return failure();
  schema::Action action;
  action.kind = schema::ActionKind::start;
  action.id = end.getId();
  action.op = op;
  action.transfer = index.tables.getTransfer(end.getTransfer());
  action.microbatch = end.getMicrobatch();
  action.peer = peer;
  action.channel = kTransferChannel;
  action.address = std::move(*address);
  action.bytes = getBytes(index.uses.of(end).type);
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

/// Describes an action that is one action of the program.
FailureOr<schema::Action> ActionWriter::describe(Operation &action,
                                                 int64_t place) {
  if (auto run = dyn_cast<RunOp>(action))
    return describeRun(run, index, layouts[place], BufferKind::Temps);
  if (auto start = dyn_cast<StartOp>(action))
    return describeStart(start);
  if (auto send = dyn_cast<SendOp>(action))
    return describeTransfer(
        send, schema::Operation::send,
        index.uses.getTransfer(send.getTransferAttr()).getTo());
  if (auto recv = dyn_cast<RecvOp>(action))
    return describeTransfer(
        recv, schema::Operation::recv,
        index.uses.getTransfer(recv.getTransferAttr()).getFrom());
  schema::Action described;
  if (auto wait = dyn_cast<WaitOp>(action)) {
    described.kind = schema::ActionKind::wait;
    described.id = wait.getId();
    described.carried = wait.getCarried();
    return described;
  }
  return action.emitOpError("is not an action of a program"), failure();
}

/// Finds values whose life in a slot ends, and the temporaries of a run.
LogicalResult ActionWriter::findDead() {
  SmallVector<Operation *> list;
  for (Operation &action : schedule.getBody().front())
    list.push_back(&action);
  auto add = [&](Operation *action, int64_t offset, int64_t bytes) {
    dead[action].push_back({offset, bytes});
  };
  for (const SlotLifetime &life : findLifetimes(schedule, index.uses)) {
    FailureOr<int64_t> offset =
        layouts[life.place].getSlotOffset(list[life.begin], life.slot);
    if (failed(offset))
      return failure();
    add(list[life.end], *offset, life.bytes);
  }
  for (auto run : schedule.getOps<RunOp>()) {
    if (isOfOwner(run, index))
      continue;
    int64_t bytes = index.uses.getTask(run).getTempBytes().value_or(0);
    FailureOr<int64_t> temps =
        layouts[getPlace(*run)].getRegion(BufferKind::Temps, run.getLoc());
    if (failed(temps))
      return failure();
    if (bytes > 0)
      add(run, *temps, bytes);
  }
  return success();
}

FailureOr<std::vector<schema::Action>> ActionWriter::write() {
  for (auto run : schedule.getOps<RunOp>())
    if (!run.getBindings())
      return run.emitOpError("binds no operands; run --pp-bind-operands "
                             "before"),
             failure();
  if (failed(findDead()))
    return failure();
  DenseSet<Operation *> partBegins;
  if (schedule.getEvaluation()) {
    FailureOr<SmallVector<Operation *>> firsts =
        findEvaluationParts(schedule, index.uses);
    if (failed(firsts))
      return failure();
    partBegins.insert_range(llvm::drop_begin(*firsts));
  }
  for (Operation &op : schedule.getBody().front()) {
    int64_t place = getPlace(op);
    if (isa<ZeroOp>(op)) {
      for (int64_t each = 0, e = layouts.size(); each < e; ++each)
        if (schedule.isOf(each))
          addZeros(each);
      continue;
    }
    if (auto run = dyn_cast<RunOp>(op); run && isOfOwner(run, index))
      continue;
    FailureOr<schema::Action> action = describe(op, place);
    if (failed(action))
      return failure();
    action->beginsPart = partBegins.contains(&op);
    auto ranges = dead.find(&op);
    if (ranges != dead.end())
      action->dead = std::move(ranges->second);
    add(std::move(*action), place);
  }
  return std::move(actions);
}

} // namespace

FailureOr<schema::LocalActions>
pp::describeActions(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                    const ProgramIndex &index, ArrayRef<ArenaLayout> layouts) {
  schema::LocalActions lists;
  for (ScheduleOp schedule : schedules) {
    FailureOr<std::vector<schema::Action>> actions =
        ActionWriter(schedule, plan, index, layouts).write();
    if (failed(actions))
      return failure();
    (schedule.getEvaluation() ? lists.evalActions : lists.actions) =
        std::move(*actions);
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
      TaskOp task = index.uses.getTask(run);
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
           llvm::enumerate(index.uses.getOperands(task)))
        if (operand.role.getKind() == RoleKind::GradRange)
          update.gradientArgument = int64_t(number);
    }
  return updates;
}
