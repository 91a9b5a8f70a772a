//===- ActionProgram.cpp - The actions of the JSON document ---------------===//

#include "ActionProgram.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

namespace {

/// The channel of all transfers; sums have channels of their own.
constexpr int64_t kTransferChannel = 0;

/// Describes the actions of one schedule.
class ActionWriter {
public:
  ActionWriter(ScheduleOp schedule, PlanOp plan, const ProgramIndex &index,
               ArrayRef<ArenaLayout> layouts)
      : schedule(schedule), plan(plan), index(index), layouts(layouts) {}

  FailureOr<json::Array> write();

private:
  int64_t getPlace(Operation &action);
  FailureOr<int64_t> getOffset(Operation *action, const SlotUse &use);
  FailureOr<json::Object> describe(Operation &action, int64_t place);
  FailureOr<json::Object> describeRun(RunOp run, int64_t place);
  FailureOr<json::Object> describeStart(StartOp start);
  template <typename OpT>
  FailureOr<json::Object> describeTransfer(OpT end, StringRef op, int64_t peer);
  FailureOr<json::Object> describeCopy(CopyValueOp copy);
  FailureOr<json::Object> describeSum(SumPlacesOp sum);
  LogicalResult findDead();
  void add(json::Object action, int64_t place);
  void addZeros(int64_t place);

  ScheduleOp schedule;
  PlanOp plan;
  const ProgramIndex &index;
  ArrayRef<ArenaLayout> layouts;
  json::Array actions;
  /// Memory that is dead after an action: [offset, bytes] on its place.
  DenseMap<Operation *, json::Array> dead;
};

/// Returns the place whose arena the offsets of an action refer to: the first
/// for all places, the source for a copy.
int64_t ActionWriter::getPlace(Operation &action) {
  if (!schedule.isLocal())
    return schedule.getPlace();
  if (auto run = dyn_cast<RunOp>(action))
    return index.uses.getTask(run).getPlace();
  if (auto copy = dyn_cast<CopyValueOp>(action))
    return index.uses.getTransfer(copy.getTransferAttr()).getFrom();
  if (auto sum = dyn_cast<SumPlacesOp>(action))
    return sum.getPlaces().front();
  return 0;
}

/// Returns where a transfer reads or writes a value: in a slot, or in a
/// bucket's range.
FailureOr<int64_t> ActionWriter::getOffset(Operation *action,
                                           const SlotUse &use) {
  const ArenaLayout &layout = layouts[use.place];
  if (liesInSlot(use.role))
    return layout.getSlotOffset(action, getSlot(action, use.role));
  return layout.getRegion(getRangeRegion(use.role), action->getLoc());
}

FailureOr<json::Object> ActionWriter::describeRun(RunOp run, int64_t place) {
  const ArenaLayout &layout = layouts[place];
  unsigned number = index.tables.getTask(run.getTask());
  TaskOp task = index.tables.tasks[number];
  json::Array args;
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    FailureOr<int64_t> offset =
        layout.getOffset(run, task.getArgRole(i), task.getArgumentTypes()[i]);
    if (failed(offset))
      return failure();
    args.push_back(*offset);
  }
  FailureOr<int64_t> temps = layout.getRegion("temps", run.getLoc());
  if (failed(temps))
    return failure();
  return json::Object{{"do", "run"},
                      {"task", static_cast<int64_t>(number)},
                      {"microbatch", run.getMicrobatch()},
                      {"args", std::move(args)},
                      {"temps", *temps}};
}

FailureOr<json::Object> ActionWriter::describeStart(StartOp start) {
  const ArenaLayout &layout = layouts[schedule.getPlace()];
  const SummedBuffer buffer = index.summed.lookup(start.getWhat());
  FailureOr<int64_t> offset =
      layout.getRegion(getSummedRegion(start.getWhat()), start.getLoc());
  if (failed(offset))
    return failure();
  json::Array axes;
  for (StringAttr axis : start.getGroup().getAxes())
    axes.push_back(axis.getValue());
  json::Object action{{"do", "start"},
                      {"id", start.getId()},
                      {"op", stringifyCollectiveKind(start.getCollective())},
                      {"axes", std::move(axes)},
                      {"channel", start.getChannel()},
                      {"offset", *offset},
                      {"elements", buffer.elements},
                      {"type", spell(buffer.type)}};
  if (ArrayRef<int64_t> among = start.getGroup().getAmong(); !among.empty())
    action["among"] = json::Array(among);
  int64_t scratchBytes = getScratchBytes(start, plan, buffer);
  if (scratchBytes == 0)
    return action;
  FailureOr<int64_t> scratch =
      layout.getRegion(getScratchRegion(start), start.getLoc());
  if (failed(scratch))
    return failure();
  action["scratch"] =
      json::Object{{"offset", *scratch}, {"bytes", scratchBytes}};
  return action;
}

/// Describes a send or a receive.
template <typename OpT>
FailureOr<json::Object> ActionWriter::describeTransfer(OpT end, StringRef op,
                                                       int64_t peer) {
  FailureOr<int64_t> offset = getOffset(end, index.uses.of(end));
  if (failed(offset))
    return failure();
  return json::Object{
      {"do", "start"},
      {"id", end.getId()},
      {"op", op},
      {"transfer",
       static_cast<int64_t>(index.tables.getTransfer(end.getTransfer()))},
      {"microbatch", end.getMicrobatch()},
      {"peer", peer},
      {"channel", kTransferChannel},
      {"offset", *offset},
      {"bytes", getBytes(index.uses.of(end).type)}};
}

FailureOr<json::Object> ActionWriter::describeCopy(CopyValueOp copy) {
  auto [read, write] = index.uses.of(copy);
  auto describeEnd = [&](const SlotUse &use) -> FailureOr<json::Object> {
    FailureOr<int64_t> offset = getOffset(copy, use);
    if (failed(offset))
      return failure();
    return json::Object{{"place", use.place}, {"offset", *offset}};
  };
  FailureOr<json::Object> from = describeEnd(read);
  FailureOr<json::Object> to = describeEnd(write);
  if (failed(from) || failed(to))
    return failure();
  return json::Object{
      {"do", "copy"},
      {"transfer",
       static_cast<int64_t>(index.tables.getTransfer(copy.getTransfer()))},
      {"microbatch", copy.getMicrobatch()},
      {"from", std::move(*from)},
      {"to", std::move(*to)},
      {"bytes", getBytes(read.type)}};
}

FailureOr<json::Object> ActionWriter::describeSum(SumPlacesOp sum) {
  const SummedBuffer buffer = index.summed.lookup(sum.getWhat());
  json::Array at;
  for (int64_t place : sum.getPlaces()) {
    FailureOr<int64_t> offset =
        layouts[place].getRegion(getSummedRegion(sum.getWhat()), sum.getLoc());
    if (failed(offset))
      return failure();
    at.push_back(json::Object{{"place", place}, {"offset", *offset}});
  }
  return json::Object{{"do", "sum"},
                      {"at", std::move(at)},
                      {"elements", buffer.elements},
                      {"type", spell(buffer.type)}};
}

void ActionWriter::add(json::Object action, int64_t place) {
  if (schedule.isLocal())
    action["place"] = place;
  actions.push_back(std::move(action));
}

/// Zeroes what accumulates over microbatches: gradients and scalars.
void ActionWriter::addZeros(int64_t place) {
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      add(json::Object{{"do", "zero"},
                       {"offset", begin},
                       {"bytes", end - begin}},
          place);
  };
  for (RegionOp region : layouts[place].getRegions()) {
    bool isScalar = region.getKind() == "step_state" &&
                    region.getRegionName() != "step_state";
    if (!isScalar && region.getKind() != "gradients")
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
FailureOr<json::Object> ActionWriter::describe(Operation &action,
                                               int64_t place) {
  if (auto run = dyn_cast<RunOp>(action))
    return describeRun(run, place);
  if (auto start = dyn_cast<StartOp>(action))
    return describeStart(start);
  if (auto send = dyn_cast<SendOp>(action))
    return describeTransfer(
        send, "send", index.uses.getTransfer(send.getTransferAttr()).getTo());
  if (auto recv = dyn_cast<RecvOp>(action))
    return describeTransfer(
        recv, "recv", index.uses.getTransfer(recv.getTransferAttr()).getFrom());
  if (auto wait = dyn_cast<WaitOp>(action))
    return json::Object{{"do", "wait"}, {"id", wait.getId()}};
  if (auto copy = dyn_cast<CopyValueOp>(action))
    return describeCopy(copy);
  if (auto sum = dyn_cast<SumPlacesOp>(action))
    return describeSum(sum);
  if (isa<CheckCountsOp>(action))
    return json::Object{{"do", "check_counts"}};
  if (isa<NormOp>(action)) {
    FailureOr<int64_t> offset =
        layouts[place].getRegion("norm", action.getLoc());
    if (failed(offset))
      return failure();
    return json::Object{{"do", "norm"}, {"offset", *offset}};
  }
  return action.emitOpError("is not an action of a program"), failure();
}

/// Finds values whose life in a slot ends, and the temporaries of a run.
LogicalResult ActionWriter::findDead() {
  SmallVector<Operation *> list;
  for (Operation &action : schedule.getBody().front())
    list.push_back(&action);
  auto add = [&](Operation *action, int64_t offset, int64_t bytes) {
    dead[action].push_back(json::Array{offset, bytes});
  };
  for (const SlotLifetime &life : findLifetimes(schedule, index.uses)) {
    Operation *first = list[life.begin];
    FailureOr<int64_t> offset =
        layouts[life.place].getSlotOffset(first, getSlot(first, life.role));
    if (failed(offset))
      return failure();
    // A value that is copied and never read dies on another place.
    if (getPlace(*list[life.end]) == life.place)
      add(list[life.end], *offset, life.bytes);
  }
  for (auto run : schedule.getOps<RunOp>()) {
    int64_t bytes = index.uses.getTask(run).getTempBytes().value_or(0);
    FailureOr<int64_t> temps =
        layouts[getPlace(*run)].getRegion("temps", run.getLoc());
    if (failed(temps))
      return failure();
    if (bytes > 0)
      add(run, *temps, bytes);
  }
  return success();
}

FailureOr<json::Array> ActionWriter::write() {
  if (failed(findDead()))
    return failure();
  for (Operation &op : schedule.getBody().front()) {
    int64_t place = getPlace(op);
    if (isa<ZeroOp>(op)) {
      for (int64_t each = 0, e = layouts.size(); each < e; ++each)
        if (schedule.isOf(each))
          addZeros(each);
      continue;
    }
    if (isa<NormOp>(op) && !layouts[place].hasRegion("norm"))
      continue; // nothing learns: there is no norm
    FailureOr<json::Object> action = describe(op, place);
    if (failed(action))
      return failure();
    auto ranges = dead.find(&op);
    if (ranges != dead.end())
      (*action)["dead"] = std::move(ranges->second);
    add(std::move(*action), place);
  }
  return std::move(actions);
}

} // namespace

LogicalResult pp::describeActions(ArrayRef<ScheduleOp> schedules, PlanOp plan,
                                  const ProgramIndex &index,
                                  ArrayRef<ArenaLayout> layouts,
                                  json::Object &object) {
  object["actions"] = json::Array();
  object["eval_actions"] = json::Array();
  for (ScheduleOp schedule : schedules) {
    FailureOr<json::Array> actions =
        ActionWriter(schedule, plan, index, layouts).write();
    if (failed(actions))
      return failure();
    object[schedule.getEvaluation() ? "eval_actions" : "actions"] =
        std::move(*actions);
  }
  return success();
}
