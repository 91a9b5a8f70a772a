//===- ShardedState.cpp - What ranks have of the optimizer's states -------===//

#include "ShardedState.h"

#include "geometry/shard.h"
#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/OptimizerState.h"
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
    auto found = llvm::find_if(
        shards, [&](const ShardReport &each) { return each.group == group; });
    if (found == shards.end()) {
      shards.push_back({group, bucket.getChunks(plan.getGeometry()), 0});
      found = std::prev(shards.end());
    }
    found->parameters += bucket.getParams().size();
  }
  return shards;
}

int64_t pp::countWholeStates(ModuleOp module, PlanOp plan, int64_t place) {
  int64_t states = getOptimizerStates(plan.getOptimizer()).size(), bytes = 0;
  for (auto bucket : module.getOps<BucketOp>())
    if (llvm::is_contained(bucket.getUpdatePlaces(), place))
      bytes +=
          states * bucket.getElements() * getElementBytes(bucket.getType());
  return bytes;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

namespace {

/// Returns the ranks that have elements of the parameter's states.
std::vector<size_t> findOwners(ParamDeclOp param, InBucket in,
                               const geometry::Mesh &mesh) {
  geometry::Group group = in.bucket.getShardGroup()->getGeometry();
  int64_t elements = cast<RankedTensorType>(param.getType()).getNumElements();
  std::vector<size_t> owners;
  for (int64_t rank = 0, end = mesh.ranks(); rank < end; ++rank) {
    if (!llvm::is_contained(in.bucket.getUpdatePlaces(), mesh.placeOf(rank)))
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
  geometry::Mesh mesh = plan.getGeometry();
  bool isLocal = plan.getLaunch() == Launch::local;
  size_t states = getOptimizerStates(plan.getOptimizer()).size();
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
      int64_t bytes = getBytes(param.getType());
      items.push_back({bytes, holders});
      if (!param.getLearns())
        continue;
      InBucket in = buffers.getBucket(param.getParamNameAttr());
      if (!isLocal && in.bucket && in.bucket.getSharded())
        holders = findOwners(param, in, mesh);
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
