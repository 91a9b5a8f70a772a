//===- PlaceProgram.cpp - A place's part of the JSON document -------------===//

#include "PlaceProgram.h"

#include "PredictCounts.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Target/ArenaLayout.h"
#include "ppopt/Transforms/OptimizerStep.h"
#include "ppopt/Transforms/TaskBuilder.h"

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

namespace {

/// The channel of all transfers; sums have channels of their own.
constexpr int64_t kTransferChannel = 0;

/// Builds the entry of one place part by part.
class PlaceWriter {
public:
  PlaceWriter(ModuleOp module, PlanOp plan, const PlaceContents &contents,
              const ProgramIndex &index)
      : plan(plan), contents(contents), index(index), module(module),
        layout(module, contents.place) {}

  FailureOr<json::Object> write();

private:
  json::Object describeArena();
  FailureOr<json::Array> describeInputs();
  FailureOr<json::Array> describeParameters();
  FailureOr<json::Array> describeCounts();
  FailureOr<json::Array> describeActions(ScheduleOp schedule);
  FailureOr<json::Object> describe(Operation &action);
  FailureOr<json::Object> describeRun(RunOp run);
  FailureOr<json::Object> describeStart(StartOp start);
  template <typename OpT>
  FailureOr<json::Object> describeTransfer(OpT end, StringRef op, int64_t peer);
  void describeZero(json::Array &actions);

  PlanOp plan;
  const PlaceContents &contents;
  const ProgramIndex &index;
  ModuleOp module;
  ArenaLayout layout;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Neighbouring regions of one kind are one.
json::Object PlaceWriter::describeArena() {
  json::Array regions;
  StringRef kind;
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      regions.push_back(json::Object{
          {"kind", kind}, {"offset", begin}, {"bytes", end - begin}});
  };
  for (RegionOp region : layout.getRegions()) {
    if (region.getKind() != kind) {
      flush();
      kind = region.getKind();
      begin = region.getOffset();
    }
    end = region.getOffset() + region.getBytes();
  }
  flush();
  return json::Object{{"bytes", layout.getBytes()},
                      {"regions", std::move(regions)}};
}

/// Those that the place holds; the numbers are those of the program's lists.
FailureOr<json::Array> PlaceWriter::describeInputs() {
  json::Array inputs;
  for (auto [number, input] : llvm::enumerate(module.getOps<InputDeclOp>())) {
    if (!llvm::is_contained(contents.inputs, input))
      continue;
    std::string name = ("input:" + input.getInputName()).str();
    FailureOr<int64_t> offset = layout.getRegion(name, input.getLoc());
    if (failed(offset))
      return failure();
    inputs.push_back(json::Object{
        {"input", static_cast<int64_t>(number)},
        {"offset", *offset},
        {"bytes", getBytes(input.getType()) / plan.getAxisSize("dp")}});
  }
  return inputs;
}

FailureOr<json::Array> PlaceWriter::describeParameters() {
  json::Array parameters;
  for (auto [number, param] : llvm::enumerate(module.getOps<ParamDeclOp>())) {
    if (!llvm::is_contained(param.getPlaces(), contents.place))
      continue;
    FailureOr<int64_t> offset = layout.getParam(param);
    if (failed(offset))
      return failure();
    json::Array states;
    if (param.getLearns())
      for (StringRef state : getOptimizerStates(plan.getOptimizer()))
        states.push_back(json::Object{
            {"name", state}, {"offset", layout.getState(param, state)}});
    parameters.push_back(
        json::Object{{"parameter", static_cast<int64_t>(number)},
                     {"offset", *offset},
                     {"gradient", layout.getGradient(param)},
                     {"states", std::move(states)}});
  }
  return parameters;
}

/// All of the program's: whichever place computes a count, all know it.
FailureOr<json::Array> PlaceWriter::describeCounts() {
  json::Array counts;
  for (TaskOp task : index.tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      if (!task.getArgAttr(i, kCountAttr))
        continue;
      FailureOr<int64_t> offset =
          layout.getRegion(getScalarRegion(task.getArgRole(i)), task.getLoc());
      if (failed(offset))
        return failure();
      counts.push_back(json::Object{{"offset", *offset}});
    }
  return counts;
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

FailureOr<json::Object> PlaceWriter::describeRun(RunOp run) {
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
  json::Object action{{"do", "run"},
                      {"task", static_cast<int64_t>(number)},
                      {"microbatch", static_cast<int64_t>(run.getMicrobatch())},
                      {"args", std::move(args)},
                      {"temps", *temps}};
  if (plan.getPlant() == "skip-update-on-rank" &&
      task.getKind() == TaskKind::Update)
    action["skip_on_rank"] = 0;
  return action;
}

FailureOr<json::Object> PlaceWriter::describeStart(StartOp start) {
  const SummedBuffer buffer = index.summed.lookup(start.getWhat());
  FailureOr<int64_t> offset =
      layout.getRegion(getSummedRegion(start), start.getLoc());
  FailureOr<int64_t> scratch =
      layout.getRegion(getScratchRegion(start), start.getLoc());
  if (failed(offset) || failed(scratch))
    return failure();
  json::Array axes;
  for (StringRef axis : start.getAxes().getAsValueRange<StringAttr>())
    axes.push_back(axis);
  int64_t scratchBytes =
      llvm::divideCeil(buffer.elements, start.getGroupSize(plan)) *
      getElementBytes(buffer.type);
  json::Object action{
      {"do", "start"},
      {"id", static_cast<int64_t>(start.getId())},
      {"op", start.getCollective()},
      {"axes", std::move(axes)},
      {"channel", static_cast<int64_t>(start.getChannel())},
      {"offset", *offset},
      {"elements", buffer.elements},
      {"type", spell(buffer.type)},
      {"scratch", json::Object{{"offset", *scratch}, {"bytes", scratchBytes}}}};
  if (start.getAmong())
    action["among"] = json::Array(*start.getAmong());
  return action;
}

/// A send or a receive.
template <typename OpT>
FailureOr<json::Object> PlaceWriter::describeTransfer(OpT end, StringRef op,
                                                      int64_t peer) {
  FailureOr<int64_t> offset = layout.getSlotOffset(end, end.getSlot());
  if (failed(offset))
    return failure();
  return json::Object{
      {"do", "start"},
      {"id", static_cast<int64_t>(end.getId())},
      {"op", op},
      {"transfer",
       static_cast<int64_t>(index.tables.getTransfer(end.getTransfer()))},
      {"microbatch", static_cast<int64_t>(end.getMicrobatch())},
      {"peer", peer},
      {"channel", kTransferChannel},
      {"offset", *offset},
      {"bytes", getBytes(index.uses.of(end).type)}};
}

/// What accumulates over microbatches begins at zero: gradients and scalars.
void PlaceWriter::describeZero(json::Array &actions) {
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      actions.push_back(json::Object{
          {"do", "zero"}, {"offset", begin}, {"bytes", end - begin}});
  };
  for (RegionOp region : layout.getRegions()) {
    bool isScalar =
        region.getKind() == "record" && region.getRegionName() != "record";
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

/// An action that is one action of the program.
FailureOr<json::Object> PlaceWriter::describe(Operation &action) {
  if (auto run = dyn_cast<RunOp>(action))
    return describeRun(run);
  if (auto start = dyn_cast<StartOp>(action))
    return describeStart(start);
  if (auto send = dyn_cast<SendOp>(action))
    return describeTransfer(
        send, "send", index.uses.getTransfer(send.getTransferAttr()).getTo());
  if (auto recv = dyn_cast<RecvOp>(action))
    return describeTransfer(
        recv, "recv", index.uses.getTransfer(recv.getTransferAttr()).getFrom());
  if (auto wait = dyn_cast<WaitOp>(action))
    return json::Object{{"do", "wait"},
                        {"id", static_cast<int64_t>(wait.getId())}};
  if (isa<CheckCountsOp>(action))
    return json::Object{{"do", "check_counts"}};
  if (isa<NormOp>(action)) {
    FailureOr<int64_t> offset = layout.getRegion("norm", action.getLoc());
    if (failed(offset))
      return failure();
    return json::Object{{"do", "norm"}, {"offset", *offset}};
  }
  return action.emitOpError("is no action that a program has"), failure();
}

/// What nobody reads after each action: values whose life in a slot ends, and
/// the temporaries of a run.
FailureOr<DenseMap<Operation *, json::Array>>
findDead(ScheduleOp schedule, const ProgramIndex &index,
         const ArenaLayout &layout) {
  DenseMap<Operation *, json::Array> dead;
  SmallVector<Operation *> actions;
  for (Operation &action : schedule.getBody().front())
    actions.push_back(&action);
  auto add = [&](Operation *action, int64_t offset, int64_t bytes) {
    dead[action].push_back(json::Array{offset, bytes});
  };
  for (const SlotLifetime &life : findLifetimes(schedule, index.uses)) {
    Operation *first = actions[life.begin];
    FailureOr<int64_t> offset =
        layout.getSlotOffset(first, getSlot(first, life.role));
    if (failed(offset))
      return failure();
    add(actions[life.end], *offset, life.bytes);
  }
  for (auto run : schedule.getOps<RunOp>()) {
    int64_t bytes = index.uses.getTask(run).getTempBytes().value_or(0);
    FailureOr<int64_t> temps = layout.getRegion("temps", run.getLoc());
    if (failed(temps))
      return failure();
    if (bytes > 0)
      add(run, *temps, bytes);
  }
  return dead;
}

FailureOr<json::Array> PlaceWriter::describeActions(ScheduleOp schedule) {
  FailureOr<DenseMap<Operation *, json::Array>> dead =
      findDead(schedule, index, layout);
  if (failed(dead))
    return failure();
  json::Array actions;
  for (Operation &op : schedule.getBody().front()) {
    if (isa<ZeroOp>(op)) {
      describeZero(actions);
      continue;
    }
    if (isa<NormOp>(op) && !layout.hasRegion("norm"))
      continue; // nothing learns: there is no norm
    FailureOr<json::Object> action = describe(op);
    if (failed(action))
      return failure();
    auto ranges = dead->find(&op);
    if (ranges != dead->end())
      (*action)["dead"] = std::move(ranges->second);
    actions.push_back(std::move(*action));
  }
  return actions;
}

FailureOr<json::Object> PlaceWriter::write() {
  FailureOr<int64_t> record = layout.getRegion("record", plan.getLoc());
  FailureOr<int64_t> loss = layout.getRegion("loss", plan.getLoc());
  FailureOr<json::Array> counts = describeCounts();
  FailureOr<json::Array> inputs = describeInputs();
  FailureOr<json::Array> parameters = describeParameters();
  if (failed(record) || failed(loss) || failed(counts) || failed(inputs) ||
      failed(parameters))
    return failure();
  PredictedCounts counted = predictCounts(plan, contents, index);
  json::Object place{
      {"place", contents.place},
      {"arena", describeArena()},
      {"record", json::Object{{"offset", *record}}},
      {"loss", json::Object{{"offset", *loss}}},
      {"counts", std::move(*counts)},
      {"inputs", std::move(*inputs)},
      {"parameters", std::move(*parameters)},
      {"predicted", json::Object{{"launches", counted.launches},
                                 {"flops", counted.flops},
                                 {"bytes_sent", counted.bytesSent}}}};
  for (ScheduleOp schedule : contents.schedules) {
    FailureOr<json::Array> actions = describeActions(schedule);
    if (failed(actions))
      return failure();
    place[schedule.getEvaluation() ? "eval_actions" : "actions"] =
        std::move(*actions);
  }
  return place;
}

} // namespace

FailureOr<json::Object> pp::describePlace(ModuleOp module, PlanOp plan,
                                          const PlaceContents &contents,
                                          const ProgramIndex &index) {
  return PlaceWriter(module, plan, contents, index).write();
}
