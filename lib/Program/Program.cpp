//===- Program.cpp - The JSON document of an executable -------------------===//

#include "ppopt/Program/Program.h"

#include "ActionProgram.h"
#include "GenerationProgram.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"
#include "ppopt/runtime.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

std::string pp::spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

namespace {

json::Value optional(std::optional<int64_t> value) {
  if (!value)
    return nullptr;
  return *value;
}

/// Builds the document part by part.
class ProgramWriter {
public:
  ProgramWriter(ModuleOp module, PlanOp plan, const PlanOptions &options)
      : module(module), plan(plan), options(options), index(module),
        tables(index.tables) {}

  FailureOr<json::Object> write();

private:
  json::Object describePlan();
  json::Array describeStages();
  json::Array describeInputs();
  json::Array describeParameters();
  json::Array describeCounts();
  json::Array describeChecks();
  json::Array describeTransfers();
  json::Array describeMatmuls();
  json::Array describeKernels();
  json::Array describeTasks();
  std::string describeLossType();

  ModuleOp module;
  PlanOp plan;
  const PlanOptions &options;
  ProgramIndex index;
  const ProgramTables &tables;
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
  return json::Object{{"mesh", std::move(mesh)},
                      {"batch", plan.getBatch()},
                      {"microbatches", plan.getMicrobatches()},
                      {"schedule", plan.getSchedule()},
                      {"launch", plan.getLaunch()},
                      {"tied", plan.getTied()},
                      {"recompute", plan.getRecompute()},
                      {"precision", plan.getPrecision()},
                      {"optimizer", plan.getOptimizer()},
                      {"target", plan.getTarget()},
                      {"threads", plan.getThreads()},
                      {"cpu", plan.getCpu()},
                      {"features", std::move(features)}};
}

/// Describes the valid indices of its parts.
json::Array describeRanges(InputDeclOp input) {
  json::Array ranges;
  for (auto range : input.getRanges().getAsRange<IdRangeAttr>())
    ranges.push_back(
        json::Object{{"begin", json::Array(range.getBegin().asArrayRef())},
                     {"end", json::Array(range.getEnd().asArrayRef())},
                     {"size", range.getSize()},
                     {"ignore_index", optional(range.getIgnored())},
                     {"source", range.getSource()}});
  return ranges;
}

json::Array ProgramWriter::describeInputs() {
  json::Array inputs;
  for (auto input : module.getOps<InputDeclOp>()) {
    auto type = cast<RankedTensorType>(input.getType());
    inputs.push_back(json::Object{{"name", input.getInputName()},
                                  {"shape", json::Array(type.getShape())},
                                  {"type", spell(type.getElementType())},
                                  {"shift", input.getShift()},
                                  {"ranges", describeRanges(input)}});
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
    parameters.push_back(json::Object{
        {"name", param.getParamName()},
        {"shape", json::Array(type.getShape())},
        {"type", spell(type.getElementType())},
        {"gradient_type", spell(getStatisticsType(type.getElementType()))},
        {"trained", !param.getFrozen()},
        {"decayed", !param.getNoDecay()},
        {"init", describeInit(param.getInit())},
        {"places", json::Array(param.getPlaces())}});
  }
  return parameters;
}

/// Element s is the place of stage s.
json::Array ProgramWriter::describeStages() {
  std::map<int64_t, int64_t> placeOf;
  for (TaskOp task : tables.tasks)
    if (task.getStage() != TaskOp::kNoStage)
      placeOf[task.getStage()] = task.getPlace();
  json::Array stages;
  for (auto &[stage, place] : placeOf)
    stages.push_back(json::Object{{"place", place}});
  return stages;
}

json::Array ProgramWriter::describeCounts() {
  json::Array counts;
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (auto name = task.getArgAttrOfType<StringAttr>(i, kCountAttr))
        counts.push_back(json::Object{
            {"type", spell(getElementTypeOrSelf(task.getArgumentTypes()[i]))},
            {"name", name.getValue()},
            {"source", spellSource(task.getArgument(i).getLoc())}});
  return counts;
}

json::Array ProgramWriter::describeChecks() {
  json::Array checks;
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (auto range = task.getArgAttrOfType<IdRangeAttr>(i, kIdRangeAttr))
        checks.push_back(
            json::Object{{"size", range.getSize()},
                         {"ignore_index", optional(range.getIgnored())},
                         {"source", range.getSource()}});
  return checks;
}

json::Array ProgramWriter::describeMatmuls() {
  json::Array matmuls;
  for (const MatmulEntry &entry : tables.matmuls) {
    GemmOp op = entry.op;
    auto strides = [](ArrayRef<int64_t> list) {
      return json::Object{{"strides", json::Array(list)}};
    };
    matmuls.push_back(json::Object{
        {"name", entry.name},
        {"type", spell(op.getA().getType().getElementType())},
        {"c_type", spell(op.getC().getType().getElementType())},
        {"accumulate", op.getAccumulate()},
        {"m", op.getM()},
        {"n", op.getN()},
        {"k", op.getK()},
        {"batch", json::Array(op.getBatch())},
        {"a", strides(op.getAStrides())},
        {"b", strides(op.getBStrides())},
        {"c", strides(op.getCStrides())},
        {"workspace",
         op.getWorkspace() ? getBytes(op.getWorkspace().getType()) : 0}});
  }
  return matmuls;
}

json::Array ProgramWriter::describeTransfers() {
  json::Array transfers;
  for (TransferOp transfer : tables.transfers)
    transfers.push_back(
        json::Object{{"name", transfer.getSymName()},
                     {"value", transfer.getValue()},
                     {"from", transfer.getFrom()},
                     {"to", transfer.getTo()},
                     {"from_stage", transfer.getFromStage()},
                     {"to_stage", transfer.getToStage()},
                     {"bytes", getBytes(transfer.getType())},
                     {"type", spell(getElementTypeOrSelf(transfer.getType()))},
                     {"step", transfer.getStep()},
                     {"requires_grad", transfer.getRequiresGrad()},
                     {"gradient_of",
                      transfer.getGradientOf()
                          ? json::Value(static_cast<int64_t>(
                                tables.getTransfer(*transfer.getGradientOf())))
                          : json::Value(nullptr)}});
  return transfers;
}

json::Array ProgramWriter::describeTasks() {
  json::Array list;
  for (TaskOp task : tables.tasks)
    list.push_back(json::Object{{"name", task.getSymName()},
                                {"kind", stringifyTaskKind(task.getKind())},
                                {"stage", task.getStage()},
                                {"place", task.getPlace()}});
  return list;
}

std::string ProgramWriter::describeLossType() {
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (task.getArgRole(i).getKind() == RoleKind::Loss)
        return spell(getElementTypeOrSelf(task.getArgumentTypes()[i]));
  return "f64"; // a generating program's loss, which stays zero
}

json::Array ProgramWriter::describeKernels() {
  json::Array kernels;
  for (KernelOp kernel : tables.kernels) {
    Work work = estimateKernelWork(kernel);
    kernels.push_back(json::Object{{"name", kernel.getSymName()},
                                   {"bytes", static_cast<int64_t>(work.bytes)},
                                   {"flops", getMatmulFlops(kernel)}});
  }
  return kernels;
}

FailureOr<json::Object> ProgramWriter::write() {
  json::Array places;
  SmallVector<ArenaLayout, 0> layouts;
  for (int64_t place = 0, e = plan.getPlaces(); place < e; ++place)
    layouts.emplace_back(module, place);
  for (const PlaceContents &contents : collectPlaces(module, plan)) {
    FailureOr<json::Object> place =
        describePlace(module, plan, contents, index, layouts);
    if (failed(place))
      return failure();
    places.push_back(std::move(*place));
  }
  json::Object program{{"abi", PPOPT_ABI_VERSION},
                       {"model", json::fixUTF8(options.model)},
                       {"model_hash", options.modelHash},
                       {"source", json::fixUTF8(options.source)},
                       {"command", json::fixUTF8(options.command)},
                       {"plan", describePlan()},
                       {"stages", describeStages()},
                       {"inputs", describeInputs()},
                       {"parameters", describeParameters()},
                       {"loss", json::Object{{"type", describeLossType()}}},
                       {"counts", describeCounts()},
                       {"checks", describeChecks()},
                       {"transfers", describeTransfers()},
                       {"matmuls", describeMatmuls()},
                       {"kernels", describeKernels()},
                       {"tasks", describeTasks()},
                       {"places", std::move(places)}};
  if (options.generates) {
    FailureOr<json::Object> generation =
        describeGeneration(module, layouts.front());
    if (failed(generation))
      return failure();
    program["generation"] = std::move(*generation);
  }
  if (plan.getLaunch() == "local") {
    json::Object local;
    auto schedules = llvm::to_vector(module.getOps<ScheduleOp>());
    if (failed(describeActions(schedules, plan, index, layouts, local)))
      return failure();
    program["local"] = std::move(local);
  }
  return program;
}

} // namespace

FailureOr<json::Object> pp::buildProgram(ModuleOp module,
                                         const PlanOptions &options) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  return ProgramWriter(module, *plan, options).write();
}
