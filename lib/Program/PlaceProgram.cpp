//===- PlaceProgram.cpp - A place's part of the program -------------------===//

#include "ppopt/Program/PlaceProgram.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ActionProgram.h"
#include "ppopt/Program/PredictCounts.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"
#include "ppopt/runtime.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Fills the entry of one place part by part.
class PlaceWriter {
public:
  PlaceWriter(ModuleOp module, PlanOp plan, const PlaceContents &contents,
              const ProgramIndex &index, ArrayRef<ArenaLayout> layouts)
      : plan(plan), contents(contents), index(index), module(module),
        layouts(layouts), layout(layouts[contents.place]) {}

  FailureOr<schema::Place> write();

private:
  LogicalResult addScalars();
  void addArena();
  LogicalResult addInputs();
  std::optional<schema::Shard> describeShard(ParamDeclOp param);
  LogicalResult addParameters();
  LogicalResult addCounts();
  LogicalResult addMetrics();
  LogicalResult addOutputs();
  LogicalResult addChecks();
  LogicalResult addActions();
  LogicalResult addOwned(ArrayRef<ScheduleOp> schedules);
  /// Finds a buffer's offset; emits an error at `loc` if the place has none.
  LogicalResult find(BufferAttr buffer, Location loc,
                     schema::Address &address) {
    FailureOr<int64_t> offset = layout.getRegion(buffer, loc);
    if (succeeded(offset))
      address = *offset;
    return offset;
  }

  PlanOp plan;
  const PlaceContents &contents;
  const ProgramIndex &index;
  ModuleOp module;
  ArrayRef<ArenaLayout> layouts;
  const ArenaLayout &layout;
  schema::Place place;
};

LogicalResult PlaceWriter::addScalars() {
  auto get = [&](BufferKind kind) {
    return BufferAttr::get(plan.getContext(), kind);
  };
  if (failed(
          find(get(BufferKind::StepState), plan.getLoc(), place.stepState)) ||
      failed(find(get(BufferKind::Loss), plan.getLoc(), place.loss)))
    return failure();
  bool learns = llvm::any_of(module.getOps<TaskOp>(), [](TaskOp task) {
    return task.getKind() == TaskKind::Norm;
  });
  if (learns)
    place.norm =
        place.stepState.base + offsetof(ppopt_step_state, norm_squared);
  return success();
}

/// Merges neighbouring regions of one kind.
void PlaceWriter::addArena() {
  place.arenaBytes = layout.getBytes();
  for (RegionOp region : layout.getRegions()) {
    if (region->hasAttr(kOverlaidAttr) || region.getBytes() == 0)
      continue;
    auto kind =
        toSchema<schema::RegionKind>(stringifyMemoryKind(region.getKind()));
    if (place.regions.empty() || place.regions.back().kind != kind)
      place.regions.push_back({kind, region.getOffset(), 0});
    place.regions.back().bytes += region.getBytes();
  }
}

/// Numbers index the program's list.
LogicalResult PlaceWriter::addInputs() {
  for (auto [number, input] : llvm::enumerate(module.getOps<InputDeclOp>())) {
    if (!llvm::is_contained(contents.inputs, input))
      continue;
    schema::PlaceInput held;
    held.input = number;
    auto buffer = BufferAttr::get(input.getContext(), BufferKind::Input,
                                  input.getInputName());
    if (failed(find(buffer, input.getLoc(), held.address)))
      return failure();
    place.inputs.push_back(std::move(held));
  }
  return success();
}

/// Describes what each rank has a chunk of, and which, if ranks do not have all
/// of everything. Places that borrow the parameter have neither.
std::optional<schema::Shard> PlaceWriter::describeShard(ParamDeclOp param) {
  auto [bucket, first] = index.buffers.getBucket(param.getParamNameAttr());
  if (bucket && bucket.getOwners())
    return schema::Shard{{std::string(::ppopt::geometry::batchAxis)},
                         {},
                         int64_t(bucket.getElements()),
                         first,
                         schema::ShardOf::parameters};
  if (!bucket || !bucket.getSharded() ||
      !llvm::is_contained(getShardPlaces(bucket), contents.place))
    return std::nullopt;
  auto [axes, among] = bucket.getShardGroup()->getGeometry();
  schema::ShardOf of = bucket.hasShardedParams() ? schema::ShardOf::parameters
                       : bucket.hasShardedGradients()
                           ? schema::ShardOf::gradients
                           : schema::ShardOf::states;
  return schema::Shard{std::move(axes), std::move(among),
                       int64_t(bucket.getElements()), first, of};
}

LogicalResult PlaceWriter::addParameters() {
  for (auto [number, param] : llvm::enumerate(module.getOps<ParamDeclOp>())) {
    if (!llvm::is_contained(param.getPlaces(), contents.place))
      continue;
    FailureOr<int64_t> offset = layout.getParam(param);
    if (failed(offset))
      return failure();
    schema::PlaceParameter held;
    held.parameter = number;
    held.address = *offset;
    if (int64_t gradient = layout.getGradient(param); gradient >= 0)
      held.gradient = gradient;
    if (int64_t master = layout.getMaster(param); master >= 0) {
      held.working = held.address;
      held.address = master;
    }
    // There are none if nothing updates the parameter.
    for (StringRef state : getOptimizerStates(plan))
      if (int64_t at = layout.getState(param, state); at >= 0)
        held.states.push_back({state.str(), at});
    held.shard = describeShard(param);
    place.parameters.push_back(std::move(held));
  }
  return success();
}

/// Adds all counts of the program: every place knows each count, whichever
/// place computes it.
LogicalResult PlaceWriter::addCounts() {
  for (TaskOp task : index.tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      if (!task.getArgAttr(i, kCountAttr))
        continue;
      if (failed(find(getWholeBuffer(task.getArgRole(i)), task.getLoc(),
                      place.counts.emplace_back().address)))
        return failure();
    }
  return success();
}

/// Adds all metrics of the program, in its order.
LogicalResult PlaceWriter::addMetrics() {
  for (auto &[role, type] : index.scalars) {
    if (role.getKind() != RoleKind::Metric)
      continue;
    schema::PlaceMetric &metric = place.metrics.emplace_back();
    if (failed(find(getWholeBuffer(role), plan.getLoc(), metric.address)))
      return failure();
    auto count =
        RoleAttr::get(plan.getContext(), RoleKind::MetricCount, role.getName());
    if (index.scalars.contains(count) &&
        failed(
            find(getWholeBuffer(count), plan.getLoc(), metric.count.emplace())))
      return failure();
  }
  return success();
}

/// Adds the outputs that the place's tasks make.
LogicalResult PlaceWriter::addOutputs() {
  for (auto [number, output] : llvm::enumerate(index.outputs)) {
    TaskOp task = output.task;
    if (task.getPlace() != contents.place)
      continue;
    schema::PlaceOutput &made = place.outputs.emplace_back();
    made.output = static_cast<int64_t>(number);
    if (failed(find(getWholeBuffer(output.role), task.getLoc(), made.address)))
      return failure();
  }
  return success();
}

/// Adds the checks of the place's tasks; numbers index the program's list.
LogicalResult PlaceWriter::addChecks() {
  int64_t number = 0;
  for (TaskOp task : index.tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      if (!task.getArgAttr(i, kIdRangeAttr))
        continue;
      int64_t check = number++;
      if (task.getPlace() != contents.place)
        continue;
      schema::PlaceCheck &added = place.checks.emplace_back();
      added.check = check;
      if (failed(find(getWholeBuffer(task.getArgRole(i)), task.getLoc(),
                      added.address)))
        return failure();
    }
  return success();
}

/// Actions for all places together do not belong to the place.
LogicalResult PlaceWriter::addActions() {
  SmallVector<ScheduleOp> own = contents.schedules;
  llvm::erase_if(own, [](ScheduleOp schedule) { return schedule.isLocal(); });
  FailureOr<schema::LocalActions> lists =
      describeActions(own, plan, index, layouts);
  if (failed(lists))
    return failure();
  place.actions = std::move(lists->actions);
  place.evalActions = std::move(lists->evalActions);
  place.averageActions = std::move(lists->averageActions);
  return addOwned(own);
}

/// Adds what a rank has as an owner.
LogicalResult PlaceWriter::addOwned(ArrayRef<ScheduleOp> schedules) {
  if (plan.getSync() == Sync::step)
    return success();
  schema::Owned owned;
  FailureOr<std::vector<schema::OwnedBucket>> updates =
      describeUpdates(schedules, plan, index, layout);
  if (failed(updates))
    return failure();
  owned.buckets = std::move(*updates);
  if (!owned.buckets.empty()) {
    MLIRContext *context = plan.getContext();
    if (failed(find(BufferAttr::get(context, BufferKind::UpdateState),
                    plan.getLoc(), owned.stepState)) ||
        failed(find(BufferAttr::get(context, BufferKind::Inbox), plan.getLoc(),
                    owned.inboxes)))
      return failure();
  }
  place.owned = std::move(owned);
  return success();
}

FailureOr<schema::Place> PlaceWriter::write() {
  place.place = contents.place;
  addArena();
  if (failed(addScalars()) || failed(addCounts()) || failed(addMetrics()) ||
      failed(addOutputs()) || failed(addChecks()) || failed(addInputs()) ||
      failed(addParameters()) || failed(addActions()))
    return failure();
  place.predicted = predictCounts(plan, contents, index);
  return std::move(place);
}

} // namespace

FailureOr<schema::Place> pp::describePlace(ModuleOp module, PlanOp plan,
                                           const PlaceContents &contents,
                                           const ProgramIndex &index,
                                           ArrayRef<ArenaLayout> layouts) {
  return PlaceWriter(module, plan, contents, index, layouts).write();
}
