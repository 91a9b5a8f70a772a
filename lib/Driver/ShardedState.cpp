//===- ShardedState.cpp - What ranks have of what is sharded --------------===//

#include "ShardedState.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "schema/checkpoint_writers.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

std::vector<ShardReport> pp::describeShards(ModuleOp module, PlanOp plan) {
  std::vector<ShardReport> shards;
  for (auto bucket : module.getOps<BucketOp>()) {
    if (!bucket.getSharded())
      continue;
    GroupAttr group = bucket.getShardGroupAttr();
    ShardedState state = *bucket.getSharded();
    auto found = llvm::find_if(shards, [&](const ShardReport &each) {
      return each.group == group && each.state == state &&
             each.isConstant == bucket.getConstant();
    });
    if (found == shards.end()) {
      shards.push_back({group, state, bucket.getConstant(),
                        bucket.getChunks(plan.getGeometry()), 0});
      found = std::prev(shards.end());
    }
    found->parameters += bucket.getParams().size();
  }
  return shards;
}

/// Adds the bytes of a place's buckets that other ranks have.
static void addElsewhere(ModuleOp module, PlanOp plan, int64_t place,
                         PlaceReport &report) {
  int64_t states = getOptimizerStates(plan).size();
  for (auto bucket : module.getOps<BucketOp>()) {
    if (!llvm::is_contained(getShardPlaces(bucket), place))
      continue;
    int64_t elements = bucket.getElements();
    elements -= elements / bucket.getChunks(plan.getGeometry());
    int64_t bytes = elements * getElementBytes(bucket.getType());
    auto add = [&](MemoryKind kind, int64_t bytes) {
      report.elsewhereBytes[stringifyMemoryKind(kind)] += bytes;
    };
    if (bucket.hasShardedParams())
      add(MemoryKind::Parameters, bytes);
    if (bucket.hasShardedGradients())
      add(MemoryKind::Gradients,
          elements * getElementBytes(getGradType(bucket)));
    if (bucket.hasShardedStates())
      add(MemoryKind::Optimizer, states * bytes);
  }
}

/// Adds what the collectives of buckets in a place's tasks send in a step of
/// training.
static void addTraffic(ModuleOp module, PlanOp plan,
                       const PlaceContents &contents, PlaceReport &report) {
  geometry::Mesh mesh = plan.getGeometry();
  DenseMap<StringAttr, int64_t> runs;
  for (ScheduleOp schedule : contents.schedules)
    if (schedule.isTraining())
      for (auto run : schedule.getOps<RunOp>())
        ++runs[run.getTaskAttr().getAttr()];
  DenseSet<std::pair<Attribute, Attribute>> seen;
  for (TaskOp task : contents.tasks) {
    int64_t count = runs.lookup(task.getSymNameAttr());
    for (TaskCollectiveAttr each : task.getCollectiveList()) {
      if (count == 0 || !isOfBucket(each, module))
        continue;
      int64_t bytes = predictSent(each, mesh, contents.place);
      bool isSum = geometry::reduces(each.getCollective().getKind());
      TaskTraffic &traffic = isSum ? report.sums : report.gathers;
      auto what = StringAttr::get(each.getContext(), each.getWhat());
      traffic.bytes += count * bytes;
      if (seen.insert({each.getCollective(), what}).second)
        traffic.once += bytes;
    }
  }
}

void pp::addSharded(ModuleOp module, PlanOp plan, const PlaceContents &contents,
                    PlaceReport &report) {
  addElsewhere(module, plan, contents.place, report);
  addTraffic(module, plan, contents, report);
  for (ParamDeclOp param : contents.params)
    if (param.getLearns())
      report.learned += cast<ShapedType>(param.getType()).getNumElements();
}

SmallVector<int64_t>
pp::predictCheckpointBytes(const schema::Program &program) {
  geometry::Mesh mesh = program.plan.getMesh();
  std::vector<int64_t> written(program.plan.ranks(), 0);
  for (const schema::WrittenTensor &each : schema::assignWriters(program))
    written[each.writer] += each.bytes;
  SmallVector<int64_t> most(program.places.size(), 0);
  for (auto [place, bytes] : llvm::enumerate(most))
    for (auto [rank, own] : llvm::enumerate(written))
      if (program.local || mesh.placeOf(rank) == int64_t(place))
        bytes = std::max(bytes, own);
  return most;
}
