//===- ShardedState.cpp - What ranks have of what is sharded --------------===//

#include "ShardedState.h"

#include "geometry/shard.h"
#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/share_by_size.h"

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
  DenseMap<StringAttr, TaskOp> tasks;
  for (TaskOp task : contents.tasks)
    tasks[task.getSymNameAttr()] = task;
  DenseSet<std::pair<Attribute, Attribute>> seen;
  for (ScheduleOp schedule : contents.schedules) {
    if (!schedule.isTraining())
      continue;
    for (auto run : schedule.getOps<RunOp>()) {
      TaskOp task = tasks.lookup(run.getTaskAttr().getAttr());
      if (!task)
        continue; // of another place
      for (TaskCollectiveAttr each : task.getCollectiveList()) {
        if (!isOfBucket(each, module))
          continue;
        int64_t bytes = predictSent(each, mesh, contents.place);
        bool isSum = geometry::reduces(each.getCollective().getKind());
        TaskTraffic &traffic = isSum ? report.sums : report.gathers;
        auto what = StringAttr::get(each.getContext(), each.getWhat());
        traffic.bytes += bytes;
        if (seen.insert({each.getCollective(), what}).second)
          traffic.once += bytes;
      }
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

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

namespace {

/// Returns the bytes of the whole parameter, of which ranks may have tiles.
int64_t getGlobalBytes(ParamDeclOp param, const geometry::Mesh &mesh) {
  int64_t bytes = getBytes(param.getType());
  if (auto sharding = param->getAttrOfType<ShardingAttr>(kShardingAttr))
    for (const DimCut &cut : sharding.getCuts())
      bytes *= mesh.size(cut.axis.getValue());
  return bytes;
}

/// Returns the ranks of the job that have elements of the parameter's states.
std::vector<size_t> findOwners(ParamDeclOp param, InBucket in,
                               const geometry::Mesh &mesh) {
  geometry::Group group{{std::string(geometry::batchAxis)}, {}};
  if (!in.bucket.getOwners())
    group = in.bucket.getShardGroup()->getGeometry();
  int64_t elements = cast<RankedTensorType>(param.getType()).getNumElements();
  std::vector<size_t> owners;
  for (int64_t rank = 0, end = mesh.ranks(); rank < end; ++rank) {
    if (!llvm::is_contained(getShardPlaces(in.bucket), mesh.placeOf(rank)))
      continue;
    geometry::OwnedElements owned = geometry::ownedElements(
        in.bucket.getElements(), in.first, elements, mesh.size(group),
        mesh.position(group, rank).value_or(0));
    if (owned.count() > 0)
      owners.push_back(rank);
  }
  return owners;
}

} // namespace

/// Computes the same as the runtime's checkpoint_shares.h.
SmallVector<int64_t> pp::predictCheckpointBytes(ModuleOp module, PlanOp plan) {
  geometry::Mesh mesh = plan.getJobMesh();
  bool isLocal = plan.getLaunch() == Launch::local;
  size_t states = getOptimizerStates(plan).size();
  BufferIndex buffers(module);
  std::vector<::ppopt::SizedItem> items;
  for (int64_t place = 0; place < plan.getPlaces(); ++place)
    for (auto param : module.getOps<ParamDeclOp>()) {
      if (param.getPlaces().front() != place)
        continue;
      std::vector<size_t> holders;
      if (isLocal)
        holders.push_back(0);
      else
        for (int64_t rank : mesh.ranksOf(place))
          holders.push_back(rank);
      int64_t bytes = getGlobalBytes(param, mesh);
      InBucket in = buffers.getBucket(param.getParamNameAttr());
      std::vector<size_t> owners = holders;
      bool isOwned = in.bucket && in.bucket.getOwners();
      if (!isLocal && in.bucket && (in.bucket.getSharded() || isOwned))
        owners = findOwners(param, in, mesh);
      bool isSharded = in.bucket && (in.bucket.hasShardedParams() || isOwned);
      items.push_back({bytes, isSharded ? owners : holders});
      if (!param.getLearns())
        continue;
      holders = std::move(owners);
      items.insert(items.end(), states, {bytes, holders});
    }
  int64_t ranks = isLocal ? 1 : mesh.ranks();
  std::vector<int64_t> written(ranks, 0);
  for (auto [item, writer] :
       llvm::zip(items, ::ppopt::assignBySize(items, ranks)))
    written[writer] += item.size;
  SmallVector<int64_t> most(plan.getPlaces(), 0);
  for (auto [place, bytes] : llvm::enumerate(most))
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (isLocal || mesh.placeOf(rank) == int64_t(place))
        bytes = std::max(bytes, written[rank]);
  return most;
}
