//===- CheckpointBytes.cpp - What each rank writes to a checkpoint --------===//

#include "CheckpointBytes.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/share_by_size.h"

#include "geometry/shard.h"

#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

/// Returns the ranks that may write a state of a parameter to a checkpoint:
/// those that have elements of it, of the groups with a rank on the owner's
/// place.
static std::vector<size_t> findStateRanks(ParamDeclOp param, BucketOp bucket,
                                          const geometry::Mesh &mesh) {
  std::vector<int64_t> owners = mesh.ranksOf(param.getPlaces().front());
  if (!bucket || !bucket.getSharded())
    return {owners.begin(), owners.end()};
  auto name = llvm::find(bucket.getParams().getAsValueRange<StringAttr>(),
                         param.getParamName());
  int64_t first = bucket.getOffsets()[std::distance(
      bucket.getParams().getAsValueRange<StringAttr>().begin(), name)];
  int64_t elements = cast<ShapedType>(param.getType()).getNumElements();
  geometry::Group group = bucket.getShardGroup()->getGeometry();
  std::set<size_t> ranks;
  for (int64_t owner : owners)
    for (int64_t i = 0, n = mesh.size(group); i < n; ++i)
      if (geometry::ownedElements(bucket.getElements(), first, elements, n, i)
              .count() > 0)
        ranks.insert(mesh.member(group, owner, i));
  return {ranks.begin(), ranks.end()};
}

std::vector<int64_t> pp::findCheckpointBytes(ModuleOp module, PlanOp plan) {
  geometry::Mesh mesh = plan.getGeometry();
  size_t states = getOptimizerStates(plan.getOptimizer()).size();
  llvm::StringMap<BucketOp> bucketOf;
  for (auto bucket : module.getOps<BucketOp>())
    for (StringRef name : bucket.getParams().getAsValueRange<StringAttr>())
      bucketOf[name] = bucket;
  std::vector<::ppopt::SizedItem> items;
  for (int64_t place = 0; place < plan.getPlaces(); ++place)
    for (auto param : module.getOps<ParamDeclOp>()) {
      if (param.getPlaces().front() != place)
        continue;
      int64_t bytes = getBytes(param.getType());
      std::vector<int64_t> owners = mesh.ranksOf(place);
      items.push_back({bytes, {owners.begin(), owners.end()}});
      if (!param.getLearns())
        continue;
      std::vector<size_t> ranks =
          findStateRanks(param, bucketOf.lookup(param.getParamName()), mesh);
      for (size_t i = 0; i < states; ++i)
        items.push_back({bytes, ranks});
    }
  // One process has all places of a local launch.
  bool isLocal = plan.getLaunch() == Launch::local;
  if (isLocal)
    for (::ppopt::SizedItem &item : items)
      item.shares = {0};
  std::vector<int64_t> written(isLocal ? 1 : mesh.ranks(), 0);
  for (auto [item, rank] :
       llvm::zip(items, ::ppopt::assignBySize(items, written.size())))
    written[rank] += item.size;
  return written;
}
