//===- Program.cpp - The JSON document of an executable -------------------===//

#include "ppopt/Target/Program.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Target/ArenaLayout.h"
#include "ppopt/Target/ProgramTables.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/OptimizerStep.h"
#include "ppopt/Transforms/TaskBuilder.h"
#include "ppopt/runtime.h"

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

namespace {

std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string spell(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>()) {
    std::string text = file.getFilename().str();
    llvm::raw_string_ostream(text)
        << ":" << file.getLine() << ":" << file.getColumn();
    return text;
  }
  return "";
}

json::Value optional(std::optional<uint64_t> value) {
  if (!value)
    return nullptr;
  return static_cast<int64_t>(*value);
}

/// Bytes that the group's first rank sends in a ring all-reduce of `elements`
/// over `ranks` (docs/runtime-communication.md): member j sends every chunk
/// twice, but its own and its successor's once less; chunk i has one element
/// more where i < elements mod ranks.
int64_t ringBytes(int64_t elements, int64_t elementBytes, int64_t ranks) {
  auto chunk = [&](int64_t i) {
    return elements / ranks + (i < elements % ranks ? 1 : 0);
  };
  return (2 * elements - chunk(0) - chunk(1 % ranks)) * elementBytes;
}

/// What a start sums: elements and their type.
std::pair<int64_t, Type> getSummed(StartOp start) {
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(start.getWhat())) {
    auto bucket = SymbolTable::lookupNearestSymbolFrom<BucketOp>(start, symbol);
    return {bucket.getElements(), bucket.getType()};
  }
  std::pair<int64_t, Type> found;
  for (auto task : start->getParentOfType<ModuleOp>().getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (task.getArgRole(i) == start.getWhat()) {
        auto shaped = cast<ShapedType>(task.getArgumentTypes()[i]);
        found = {shaped.getNumElements(), shaped.getElementType()};
      }
  return found;
}

/// Builds the document part by part.
class ProgramWriter {
public:
  ProgramWriter(ModuleOp module, PlanOp plan, const PlanOptions &options)
      : module(module), plan(plan), options(options), layout(module),
        tables(module) {}

  FailureOr<json::Object> write();

private:
  json::Object describePlan();
  json::Array describeInputs();
  json::Array describeParameters();
  json::Array describeCounts();
  json::Array describeProducts();
  json::Array describeTasks();
  std::string describeLossType();
  FailureOr<json::Array> describeActions(ScheduleOp schedule);
  FailureOr<json::Object> describeRun(RunOp run);
  FailureOr<json::Object> describeStart(StartOp start);
  FailureOr<SmallVector<json::Object>> describeZero(Location loc);
  json::Object describeArena();
  FailureOr<json::Array> describePlaceInputs();
  FailureOr<json::Array> describePlaceParameters();
  FailureOr<json::Array> describePlaceCounts();
  FailureOr<json::Object> describePlace();

  ModuleOp module;
  PlanOp plan;
  const PlanOptions &options;
  ArenaLayout layout;
  ProgramTables tables;
};

json::Object ProgramWriter::describePlan() {
  json::Array mesh;
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>())
    mesh.push_back(
        json::Object{{"axis", axis.getName()}, {"size", axis.getSize()}});
  json::Array features;
  SmallVector<StringRef> list;
  plan.getFeatures().split(list, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : list)
    features.push_back(feature);
  return json::Object{
      {"mesh", std::move(mesh)},
      {"batch", static_cast<int64_t>(plan.getBatch())},
      {"microbatches", static_cast<int64_t>(plan.getMicrobatches())},
      {"schedule", plan.getSchedule()},
      {"launch", "ranks"},
      {"optimizer", plan.getOptimizer()},
      {"target", plan.getTarget()},
      {"threads", static_cast<int64_t>(plan.getThreads())},
      {"cpu", plan.getCpu()},
      {"features", std::move(features)}};
}

json::Array ProgramWriter::describeInputs() {
  json::Array inputs;
  for (auto input : module.getOps<InputDeclOp>()) {
    auto type = cast<RankedTensorType>(input.getType());
    inputs.push_back(
        json::Object{{"name", input.getInputName()},
                     {"shape", json::Array(type.getShape())},
                     {"type", spell(type.getElementType())},
                     {"shift", static_cast<int64_t>(input.getShift())},
                     {"range", optional(input.getRange())},
                     {"ignore_index", optional(input.getIgnoreIndex())}});
  }
  return inputs;
}

json::Object describeInit(InitAttr init) {
  json::Object object{{"kind", stringifyInitKind(init.getKind())}};
  double first = init.getFirst().convertToDouble();
  double second = init.getSecond().convertToDouble();
  if (init.getKind() == InitKind::Uniform) {
    object["low"] = first;
    object["high"] = second;
  } else if (init.getKind() == InitKind::Normal) {
    object["mean"] = first;
    object["std"] = second;
  }
  return object;
}

json::Array ProgramWriter::describeParameters() {
  json::Array parameters;
  for (auto param : module.getOps<ParamDeclOp>()) {
    auto type = cast<RankedTensorType>(param.getType());
    parameters.push_back(json::Object{{"name", param.getParamName()},
                                      {"shape", json::Array(type.getShape())},
                                      {"type", spell(type.getElementType())},
                                      {"trained", !param.getFrozen()},
                                      {"decayed", !param.getNoDecay()},
                                      {"init", describeInit(param.getInit())},
                                      {"places", json::Array{0}}});
  }
  return parameters;
}

/// Neighbouring regions of one kind are one.
json::Object ProgramWriter::describeArena() {
  json::Array regions;
  StringRef kind;
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      regions.push_back(json::Object{
          {"kind", kind}, {"offset", begin}, {"bytes", end - begin}});
  };
  for (auto region : module.getOps<RegionOp>()) {
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

json::Array ProgramWriter::describeCounts() {
  json::Array counts;
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (task.getArgAttr(i, kCountAttr))
        counts.push_back(json::Object{
            {"type", spell(getElementTypeOrSelf(task.getArgumentTypes()[i]))},
            {"name", task.getArgRole(i).getName()},
            {"source", spell(task.getArgument(i).getLoc())}});
  return counts;
}

json::Array ProgramWriter::describeProducts() {
  json::Array products;
  for (ProductEntry &entry : tables.products) {
    ProductOp op = entry.op;
    auto strides = [](ArrayRef<int64_t> list) {
      return json::Object{{"strides", json::Array(list)}};
    };
    products.push_back(json::Object{
        {"name", entry.name},
        {"type", spell(op.getA().getType().getElementType())},
        {"c_type", spell(op.getC().getType().getElementType())},
        {"accumulate", op.getAccumulate()},
        {"m", static_cast<int64_t>(op.getM())},
        {"n", static_cast<int64_t>(op.getN())},
        {"k", static_cast<int64_t>(op.getK())},
        {"batch", json::Array(op.getBatch())},
        {"a", strides(op.getAStrides())},
        {"b", strides(op.getBStrides())},
        {"c", strides(op.getCStrides())},
        {"workspace",
         op.getWorkspace() ? getBytes(op.getWorkspace().getType()) : 0}});
  }
  return products;
}

FailureOr<json::Object> ProgramWriter::describeRun(RunOp run) {
  unsigned index = tables.getTask(run.getTask());
  TaskOp task = tables.tasks[index];
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
                      {"task", static_cast<int64_t>(index)},
                      {"microbatch", static_cast<int64_t>(run.getMicrobatch())},
                      {"args", std::move(args)},
                      {"temps", *temps}};
  if (plan.getPlant() == "skip-update-on-rank" &&
      task.getKind() == TaskKind::Update)
    action["skip_on_rank"] = 0;
  return action;
}

FailureOr<json::Object> ProgramWriter::describeStart(StartOp start) {
  std::string region, scratch = "scratch";
  auto [elements, type] = getSummed(start);
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(start.getWhat())) {
    region = ("grads:" + symbol.getValue()).str();
    scratch += (":" + symbol.getValue()).str();
  } else {
    region = getScalarRegion(cast<RoleAttr>(start.getWhat()));
  }
  FailureOr<int64_t> offset = layout.getRegion(region, start.getLoc());
  FailureOr<int64_t> scratchOffset = layout.getRegion(scratch, start.getLoc());
  if (failed(offset) || failed(scratchOffset))
    return failure();
  int64_t ranks = start.getGroupSize(plan);
  json::Array axes;
  for (StringRef axis : start.getAxes().getAsValueRange<StringAttr>())
    axes.push_back(axis);
  return json::Object{
      {"do", "start"},
      {"id", static_cast<int64_t>(start.getId())},
      {"op", start.getCollective()},
      {"axes", std::move(axes)},
      {"channel", static_cast<int64_t>(start.getChannel())},
      {"offset", *offset},
      {"elements", elements},
      {"type", spell(type)},
      {"scratch", json::Object{{"offset", *scratchOffset},
                               {"bytes", static_cast<int64_t>(
                                             llvm::divideCeil(elements, ranks) *
                                             getElementBytes(type))}}}};
}

/// What accumulates over microbatches begins at zero: gradients and scalars.
FailureOr<SmallVector<json::Object>> ProgramWriter::describeZero(Location loc) {
  SmallVector<json::Object> actions;
  int64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      actions.push_back(json::Object{
          {"do", "zero"}, {"offset", begin}, {"bytes", end - begin}});
  };
  for (auto region : module.getOps<RegionOp>()) {
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
  return actions;
}

FailureOr<json::Array> ProgramWriter::describeActions(ScheduleOp schedule) {
  json::Array actions;
  for (Operation &op : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(op)) {
      FailureOr<json::Object> action = describeRun(run);
      if (failed(action))
        return failure();
      actions.push_back(std::move(*action));
    } else if (auto start = dyn_cast<StartOp>(op)) {
      FailureOr<json::Object> action = describeStart(start);
      if (failed(action))
        return failure();
      actions.push_back(std::move(*action));
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      actions.push_back(json::Object{
          {"do", "wait"}, {"id", static_cast<int64_t>(wait.getId())}});
    } else if (isa<ZeroOp>(op)) {
      FailureOr<SmallVector<json::Object>> zeros = describeZero(op.getLoc());
      if (failed(zeros))
        return failure();
      for (json::Object &zero : *zeros)
        actions.push_back(std::move(zero));
    } else if (isa<CheckCountsOp>(op)) {
      actions.push_back(json::Object{{"do", "check_counts"}});
    } else if (isa<NormOp>(op)) {
      if (!layout.hasRegion("norm"))
        continue; // nothing learns: there is no norm
      FailureOr<int64_t> offset = layout.getRegion("norm", op.getLoc());
      actions.push_back(json::Object{{"do", "norm"}, {"offset", *offset}});
    } else {
      return op.emitOpError("is no action that a program has"), failure();
    }
  }
  return actions;
}

json::Array ProgramWriter::describeTasks() {
  json::Array list;
  for (TaskOp task : tables.tasks)
    list.push_back(
        json::Object{{"name", task.getSymName()},
                     {"kind", stringifyTaskKind(task.getKind())},
                     {"stage", static_cast<int64_t>(task.getStage())},
                     {"place", static_cast<int64_t>(task.getPlace())}});
  return list;
}

std::string ProgramWriter::describeLossType() {
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (task.getArgRole(i).getKind() == RoleKind::Loss)
        return spell(getElementTypeOrSelf(task.getArgumentTypes()[i]));
  return "";
}

FailureOr<json::Array> ProgramWriter::describePlaceInputs() {
  json::Array inputs;
  int64_t index = 0;
  for (auto input : module.getOps<InputDeclOp>()) {
    std::string name = ("input:" + input.getInputName()).str();
    FailureOr<int64_t> offset = layout.getRegion(name, input.getLoc());
    if (failed(offset))
      return failure();
    inputs.push_back(json::Object{
        {"input", index++},
        {"offset", *offset},
        {"bytes", getBytes(input.getType()) / plan.getAxisSize("dp")}});
  }
  return inputs;
}

FailureOr<json::Array> ProgramWriter::describePlaceParameters() {
  json::Array parameters;
  int64_t index = 0;
  for (auto param : module.getOps<ParamDeclOp>()) {
    FailureOr<int64_t> offset = layout.getParam(param);
    if (failed(offset))
      return failure();
    json::Array states;
    if (param.getLearns())
      for (StringRef state : getOptimizerStates(plan.getOptimizer()))
        states.push_back(json::Object{
            {"name", state}, {"offset", layout.getState(param, state)}});
    parameters.push_back(json::Object{{"parameter", index++},
                                      {"offset", *offset},
                                      {"gradient", layout.getGradient(param)},
                                      {"states", std::move(states)}});
  }
  return parameters;
}

FailureOr<json::Array> ProgramWriter::describePlaceCounts() {
  json::Array counts;
  for (TaskOp task : tables.tasks)
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

FailureOr<json::Object> ProgramWriter::describePlace() {
  FailureOr<int64_t> record = layout.getRegion("record", plan.getLoc());
  FailureOr<int64_t> loss = layout.getRegion("loss", plan.getLoc());
  FailureOr<json::Array> counts = describePlaceCounts();
  FailureOr<json::Array> inputs = describePlaceInputs();
  FailureOr<json::Array> parameters = describePlaceParameters();
  if (failed(record) || failed(loss) || failed(counts) || failed(inputs) ||
      failed(parameters))
    return failure();
  PredictedCounts counted = predictCounts(module);
  json::Object place{
      {"place", 0},
      {"arena", describeArena()},
      {"record", json::Object{{"offset", *record}}},
      {"loss", json::Object{{"offset", *loss}}},
      {"counts", std::move(*counts)},
      {"inputs", std::move(*inputs)},
      {"parameters", std::move(*parameters)},
      {"predicted", json::Object{{"launches", counted.launches},
                                 {"flops", counted.flops},
                                 {"bytes_sent", counted.bytesSent}}}};
  for (auto schedule : module.getOps<ScheduleOp>()) {
    FailureOr<json::Array> actions = describeActions(schedule);
    if (failed(actions))
      return failure();
    place[schedule.getEvaluation() ? "eval_actions" : "actions"] =
        std::move(*actions);
  }
  return place;
}

FailureOr<json::Object> ProgramWriter::write() {
  FailureOr<json::Object> place = describePlace();
  if (failed(place))
    return failure();
  json::Array kernels;
  for (KernelOp kernel : tables.kernels)
    kernels.push_back(json::Object{{"name", kernel.getSymName()}});
  return json::Object{{"abi", PPOPT_ABI_VERSION},
                      {"model", options.model},
                      {"source", options.source},
                      {"command", options.command},
                      {"plan", describePlan()},
                      {"stages", json::Array{json::Object{{"place", 0}}}},
                      {"inputs", describeInputs()},
                      {"parameters", describeParameters()},
                      {"loss", json::Object{{"type", describeLossType()}}},
                      {"counts", describeCounts()},
                      {"transfers", json::Array{}},
                      {"products", describeProducts()},
                      {"kernels", std::move(kernels)},
                      {"tasks", describeTasks()},
                      {"places", json::Array{std::move(*place)}}};
}

} // namespace

PredictedCounts pp::predictCounts(ModuleOp module) {
  PredictedCounts counts;
  auto plan = *module.getOps<PlanOp>().begin();
  llvm::StringMap<PredictedCounts> perTask;
  for (auto task : module.getOps<TaskOp>()) {
    PredictedCounts &own = perTask[task.getSymName()];
    task.walk([&](Operation *op) {
      if (auto product = dyn_cast<ProductOp>(op)) {
        ++own.launches;
        int64_t flops = 2 * product.getM() * product.getN() * product.getK();
        for (int64_t size : product.getBatch())
          flops *= size;
        own.flops += flops;
      } else if (isa<LaunchOp>(op)) {
        ++own.launches;
      }
    });
  }
  for (auto schedule : module.getOps<ScheduleOp>()) {
    if (schedule.getEvaluation())
      continue;
    for (Operation &op : schedule.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(op)) {
        counts.launches += perTask[run.getTask()].launches;
        counts.flops += perTask[run.getTask()].flops;
      } else if (auto start = dyn_cast<StartOp>(op)) {
        int64_t ranks = start.getGroupSize(plan);
        auto [elements, type] = getSummed(start);
        counts.bytesSent += ringBytes(elements, getElementBytes(type), ranks);
      }
    }
  }
  return counts;
}

FailureOr<json::Object> pp::buildProgram(ModuleOp module,
                                         const PlanOptions &options) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  return ProgramWriter(module, *plan, options).write();
}
