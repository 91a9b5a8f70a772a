//===- PlaceProgram.cpp - A place's part of the JSON document -------------===//

#include "ppopt/Program/PlaceProgram.h"

#include "ActionProgram.h"
#include "ppopt/Program/PredictCounts.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

namespace {

/// Builds the entry of one place part by part.
class PlaceWriter {
public:
  PlaceWriter(ModuleOp module, PlanOp plan, const PlaceContents &contents,
              const ProgramIndex &index, ArrayRef<ArenaLayout> layouts)
      : plan(plan), contents(contents), index(index), module(module),
        layouts(layouts), layout(layouts[contents.place]) {}

  FailureOr<json::Object> write();

private:
  json::Object describeArena();
  FailureOr<json::Array> describeInputs();
  FailureOr<json::Array> describeParameters();
  FailureOr<json::Array> describeCounts();
  FailureOr<json::Array> describeChecks();

  PlanOp plan;
  const PlaceContents &contents;
  const ProgramIndex &index;
  ModuleOp module;
  ArrayRef<ArenaLayout> layouts;
  const ArenaLayout &layout;
};

/// Merges neighbouring regions of one kind.
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
    if (region->hasAttr(kOverlaidAttr))
      continue;
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

/// Describes the inputs that the place holds; numbers index the program's list.
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
        {"bytes", getBytes(input.getType()) / plan.getBatchParts()}});
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
    // There are none if nothing updates the parameter.
    for (StringRef state : getOptimizerStates(plan.getOptimizer()))
      if (int64_t at = layout.getState(param, state); at >= 0)
        states.push_back(json::Object{{"name", state}, {"offset", at}});
    parameters.push_back(
        json::Object{{"parameter", static_cast<int64_t>(number)},
                     {"offset", *offset},
                     {"gradient", layout.getGradient(param)},
                     {"states", std::move(states)}});
  }
  return parameters;
}

/// Describes all counts of the program: every place knows each count, whichever
/// place computes it.
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

/// Describes the checks of the place's tasks; numbers index the program's list.
FailureOr<json::Array> PlaceWriter::describeChecks() {
  json::Array checks;
  int64_t number = 0;
  for (TaskOp task : index.tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      if (!task.getArgAttr(i, kIdRangeAttr))
        continue;
      int64_t check = number++;
      if (task.getPlace() != contents.place)
        continue;
      FailureOr<int64_t> offset =
          layout.getRegion(getScalarRegion(task.getArgRole(i)), task.getLoc());
      if (failed(offset))
        return failure();
      checks.push_back(json::Object{{"check", check}, {"offset", *offset}});
    }
  return checks;
}

FailureOr<json::Object> PlaceWriter::write() {
  FailureOr<int64_t> record = layout.getRegion("step_state", plan.getLoc());
  FailureOr<int64_t> loss = layout.getRegion("loss", plan.getLoc());
  FailureOr<json::Array> counts = describeCounts();
  FailureOr<json::Array> checks = describeChecks();
  FailureOr<json::Array> inputs = describeInputs();
  FailureOr<json::Array> parameters = describeParameters();
  if (failed(record) || failed(loss) || failed(counts) || failed(checks) ||
      failed(inputs) || failed(parameters))
    return failure();
  PredictedCounts counted = predictCounts(plan, contents, index);
  json::Object place{
      {"place", contents.place},
      {"arena", describeArena()},
      {"step_state", json::Object{{"offset", *record}}},
      {"loss", json::Object{{"offset", *loss}}},
      {"counts", std::move(*counts)},
      {"checks", std::move(*checks)},
      {"inputs", std::move(*inputs)},
      {"parameters", std::move(*parameters)},
      {"predicted", json::Object{{"launches", counted.launches},
                                 {"flops", counted.flops},
                                 {"bytes_sent", counted.bytesSent}}}};
  // Actions for all places together do not belong to the place.
  SmallVector<ScheduleOp> own = contents.schedules;
  llvm::erase_if(own, [](ScheduleOp schedule) { return schedule.isLocal(); });
  if (failed(describeActions(own, plan, index, layouts, place)))
    return failure();
  return place;
}

} // namespace

FailureOr<json::Object> pp::describePlace(ModuleOp module, PlanOp plan,
                                          const PlaceContents &contents,
                                          const ProgramIndex &index,
                                          ArrayRef<ArenaLayout> layouts) {
  return PlaceWriter(module, plan, contents, index, layouts).write();
}
