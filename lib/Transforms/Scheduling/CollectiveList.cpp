//===- CollectiveList.cpp - What is summed and gathered over ranks --------===//

#include "CollectiveList.h"

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
using geometry::Collective;

CollectiveList::CollectiveList(ModuleOp module, PlanOp plan,
                               const MemoryUses &uses, const NormLayout &norm)
    : module(module), plan(plan) {
  addScalars(BufferKind::Global, uses);
  addScalars(BufferKind::Loss, uses);
  addScalars(BufferKind::Metric, uses);
  addScalars(BufferKind::MetricCount, uses);
  for (auto bucket : module.getOps<BucketOp>())
    if (!bucket.getConstant())
      addGradients(bucket);
  // The gradients that it is made of are complete sums.
  addNorm(norm);
  for (auto bucket : module.getOps<BucketOp>())
    addGathers(bucket);
  numberChannels();
}

/// Adds an all-reduce over some axes, and over all places if each has a part of
/// the value, unless one rank has it all.
void CollectiveList::add(BufferAttr buffer,
                         llvm::function_ref<bool(StringAttr)> isOver,
                         bool isOverPlaces) {
  Builder builder(module.getContext());
  SmallVector<StringAttr> axes;
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>()) {
    StringAttr name = builder.getStringAttr(axis.getName());
    bool isPlaces =
        geometry::useOf(axis.getName()) == geometry::AxisUse::Places;
    if (axis.getSize() > 1 && (isPlaces ? isOverPlaces : isOver(name)))
      axes.push_back(name);
  }
  if (!axes.empty())
    values.push_back({buffer,
                      {},
                      {{Collective::AllReduce,
                        GroupAttr::get(builder.getContext(), axes, {})}}});
}

/// Each place adds its part to a scalar. The shardings of the accumulators say
/// over which axes it is a partial sum; over microbatches tasks add up one
/// after the other.
void CollectiveList::addScalars(BufferKind kind, const MemoryUses &uses) {
  llvm::MapVector<BufferAttr, DenseSet<StringAttr>> axes;
  for (auto task : module.getOps<TaskOp>())
    for (const MemoryUse &use : uses.of(task)) {
      if (use.buffer.getKind() != kind || use.access != MemoryUse::Access::Add)
        continue;
      DenseSet<StringAttr> &found = axes[use.buffer];
      if (use.sharding)
        found.insert_range(use.sharding.getSums());
    }
  for (auto &[buffer, found] : axes)
    add(
        buffer,
        [&, &sums = found](StringAttr axis) { return sums.contains(axis); },
        /*isOverPlaces=*/true);
}

/// A rank computes the entries of its place and of its position on axes that
/// cut parameters, or only that of its chunks. Where it computes none it has
/// zeros, so that sums are exact.
void CollectiveList::addNorm(const NormLayout &layout) {
  bool isSharded = llvm::any_of(module.getOps<BucketOp>(), [](BucketOp b) {
    return b.hasShardedStates();
  });
  bool isAdded = llvm::any_of(module.getOps<TaskOp>(), [](TaskOp task) {
    return task.getKind() == TaskKind::Norm;
  });
  std::string_view shardAxis = plan.getGeometry().shardAxis();
  if (isAdded)
    add(
        BufferAttr::get(module.getContext(), BufferKind::Norm),
        [&](StringAttr axis) {
          return (isSharded && axis == StringRef(shardAxis)) ||
                 llvm::is_contained(layout.getAxes(), axis);
        },
        /*isOverPlaces=*/true);
}

/// Adds the sum of a bucket's gradients: on the whole bucket or, if it is
/// sharded, on each rank's chunk. Of sharded gradients, tasks have summed the
/// chunk over the ranks that shard.
void CollectiveList::addGradients(BucketOp bucket) {
  GroupAttr shard = bucket.getShardGroupAttr();
  GroupAttr replica = bucket.getReplicaGroupAttr();
  SmallVector<CollectiveLevel, 3> levels;
  if (bucket.hasShardedGradients())
    shard = {};
  if (shard && (replica || bucket.hasShardedStates()))
    levels.push_back({Collective::ReduceScatter, shard});
  else if (shard)
    levels.push_back({Collective::AllReduce, shard});
  if (replica)
    levels.push_back(
        {Collective::AllReduce, replica, /*isOfShard=*/bool(shard)});
  if (shard && replica && !bucket.hasShardedStates())
    levels.push_back({Collective::AllGather, shard});
  if (!levels.empty())
    values.push_back({BufferAttr::get(module.getContext(), BufferKind::Grads,
                                      bucket.getSymName()),
                      SmallVector<int64_t>(bucket.getUpdatePlaces()), levels});
}

void CollectiveList::addGathers(BucketOp bucket) {
  if (bucket.hasShardedStates() && !bucket.hasShardedParams())
    values.push_back({BufferAttr::get(module.getContext(), BufferKind::Params,
                                      bucket.getSymName()),
                      SmallVector<int64_t>(bucket.getUpdatePlaces()),
                      {{Collective::AllGather, bucket.getShardGroupAttr()}}});
}

/// Numbers a channel for each group after those of tasks; channel 0 is for
/// transfers. First levels
/// start in the order of the list on all places; later levels and gathers start
/// at other times and have channels of their own.
void CollectiveList::numberChannels() {
  std::map<std::tuple<const void *, Collective, bool>, int64_t> channels;
  int64_t next = 1;
  for (auto task : module.getOps<TaskOp>())
    for (TaskCollectiveAttr collective : task.getCollectiveList())
      next = std::max(next, collective.getChannel() + 1);
  for (RankValue &value : values)
    for (CollectiveLevel &level : value.levels) {
      bool isFirst =
          &level == &value.levels.front() && !value.is(BufferKind::Params);
      auto key = std::make_tuple(level.group.getAsOpaquePointer(),
                                 isFirst ? Collective::AllReduce : level.kind,
                                 isFirst);
      level.channel =
          channels.insert({key, next + channels.size()}).first->second;
    }
}
