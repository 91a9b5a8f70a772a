//===- ShardingChoice.cpp - The shardings that a plan should have ---------===//

#include "ShardingChoice.h"

#include "geometry/axes.h"
#include "ppopt/Search/ChooseShardings.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// A way to cut, and what a plan takes with it.
struct Priced {
  ShardFlag shard;
  PlanBound cost;
};

/// The ways to cut that no other is faster than and needs less memory than,
/// fastest first.
using Front = std::vector<Priced>;

/// The ways to cut a model under one plan.
class Choice {
public:
  Choice(KnownPlans &plans, const PlanPoint &point, const ShardingTree &tree)
      : plans(plans), point(point), tree(tree) {}

  /// Adds the profiles that estimates of all nodes of the tree follow from.
  void addKeys(SmallVector<ProfileKey> &keys) { addKeys(tree, keys); }
  std::vector<ShardEstimate> choose();

private:
  PlanPoint getPoint(const ShardingTree &node) const;
  void addKeys(const ShardingTree &node, SmallVector<ProfileKey> &keys);
  Front price(const ShardingTree &node);

  KnownPlans &plans;
  const PlanPoint &point;
  const ShardingTree &tree;
  std::map<std::string, PlanBound> estimates; ///< of ways that cut something
};

} // namespace

/// Returns the entries as --shard takes them.
static std::string spell(const ShardFlag &shard) {
  std::string text;
  for (const auto &[glob, cuts] : shard)
    text += (text.empty() ? "" : "; ") + glob + "=" + cuts;
  return text;
}

/// Of ways with a shard and a cost.
static auto isFaster = [](const auto &a, const auto &b) {
  return std::tie(a.cost.step, a.cost.memory, a.shard) <
         std::tie(b.cost.step, b.cost.memory, b.shard);
};

/// Removes what some other way exceeds.
static void prune(Front &front) {
  llvm::sort(front, isFaster);
  Front kept;
  for (Priced &each : front)
    if (kept.empty() || each.cost.memory < kept.back().cost.memory)
      kept.push_back(std::move(each));
  front = std::move(kept);
}

/// Returns the plan of a node. Ranks that cut nothing compute what one does.
PlanPoint Choice::getPoint(const ShardingTree &node) const {
  PlanPoint with = point;
  with.shard = spell(node.shard);
  if (node.effect.saved == 0)
    with.tp = 1;
  return with;
}

void Choice::addKeys(const ShardingTree &node, SmallVector<ProfileKey> &keys) {
  keys.push_back(plans.getKey(getPoint(node), Known::Rows));
  for (const std::vector<ShardingTree> &group : node.groups)
    for (const ShardingTree &way : group)
      addKeys(way, keys);
}

/// Returns what a node and the ways of its groups make.
Front Choice::price(const ShardingTree &node) {
  std::optional<PlanBound> cost = plans.estimateOnOnePlace(getPoint(node));
  Front front;
  if (cost) {
    front.push_back({node.shard, *cost});
    if (PlanPoint with = getPoint(node); with.tp > 1)
      estimates[with.shard] = *cost;
  }
  for (const std::vector<ShardingTree> &group : node.groups) {
    Front ways, made;
    for (const ShardingTree &way : group)
      llvm::append_range(ways, price(way));
    prune(ways);
    for (const Priced &so : front)
      for (const Priced &way : ways) {
        Priced &both = made.emplace_back(so);
        both.shard.insert(way.shard.begin(), way.shard.end());
        both.cost.step += way.cost.step - cost->step;
        both.cost.memory += way.cost.memory - cost->memory;
      }
    prune(made);
    front = std::move(made);
  }
  return front;
}

std::vector<ShardEstimate> Choice::choose() {
  Front front = price(tree);
  // Estimates of the whole tell what the sum of its parts is worth.
  for (const Priced &each : front) {
    PlanPoint with = point;
    with.shard = spell(each.shard);
    if (auto cost = plans.estimateOnOnePlace(with))
      estimates[with.shard] = *cost;
  }
  std::vector<ShardEstimate> found;
  for (const auto &[shard, cost] : estimates)
    found.push_back({shard, cost});
  llvm::sort(found, isFaster);
  return found;
}

std::vector<std::vector<ShardEstimate>>
pp::estimateShards(KnownPlans &plans, ArrayRef<PlanPoint> points) {
  std::vector<std::optional<ShardingTree>> trees = plans.findShardings(points);
  std::vector<std::optional<Choice>> choices(points.size());
  SmallVector<ProfileKey> keys;
  for (auto [point, tree, choice] : llvm::zip(points, trees, choices))
    if (tree) {
      choice.emplace(plans, point, *tree);
      choice->addKeys(keys);
    }
  plans.makeProfiles(keys);
  std::vector<std::vector<ShardEstimate>> found;
  for (std::optional<Choice> &choice : choices)
    found.push_back(choice ? choice->choose() : std::vector<ShardEstimate>());
  return found;
}

void pp::chooseShards(KnownPlans &plans, PlanSpace &space) {
  SmallVector<PlanPoint> points;
  int64_t microbatches =
      space.choosesMicrobatches ? 1 : space.base.microbatches;
  if (microbatches > plans.getRows())
    return; // the space is empty
  for (int64_t tp : getDivisors(space.ranks)) {
    if (tp == 1 || space.getKept("tp").value_or(tp) != tp)
      continue;
    PlanPoint &point = points.emplace_back();
    point.tp = tp;
    point.dp = std::gcd(plans.getRows() / microbatches, space.ranks / tp);
    point.microbatches = microbatches;
    if (!space.choosesRecompute)
      point.recompute = space.base.recompute;
  }
  for (auto [point, found] : llvm::zip(points, estimateShards(plans, points)))
    if (!found.empty())
      space.shards[point.tp] = found.front().shard;
}

FailureOr<std::string> pp::chooseShard(Compilation &compilation) {
  PlanSpace space;
  space.base = compilation.getPlan();
  space.base.shard.clear();
  FailureOr<func::FuncOp> entry = findEntry(compilation.getModule());
  if (failed(entry))
    return failure();
  const geometry::Mesh &mesh = space.base.mesh;
  for (const geometry::Axis &axis : mesh)
    if (axis.size > 1 && axis.name != "tp" &&
        geometry::useOf(axis.name) == geometry::AxisUse::Model)
      return entry->emitError("--shard: auto chooses what tp cuts, and the "
                              "mesh has ")
                 << axis.name << "=" << axis.size
                 << ", too; name what each of them cuts",
             failure();
  if (mesh.size("tp") == 1)
    return std::string();
  KnownPlans plans(compilation, space);
  if (failed(plans.readModel()))
    return failure();
  PlanPoint point;
  point.dp = mesh.size("dp");
  point.fsdp = mesh.size("fsdp");
  point.tp = mesh.size("tp");
  point.microbatches = space.base.microbatches;
  point.zero = space.base.zero;
  point.gathersInTasks =
      point.zero == 3 && space.base.gather == ::ppopt::schema::Gather::task;
  point.recompute = space.base.recompute;
  std::vector<ShardEstimate> likely = estimateShards(plans, point).front();
  constexpr size_t most = 8; // are compiled
  likely.resize(std::min(likely.size(), most));
  std::vector<PlanOptions> options(likely.size(), space.base);
  for (auto [with, each] : llvm::zip(options, likely)) {
    with.shard = each.shard;
    with.deviceMemory.reset();
    if (with.schedule == "auto")
      with.schedule = "1f1b";
  }
  std::vector<TriedPlan> tried = plans.tryPlans(options);
  std::optional<size_t> best;
  for (size_t i = 0; i < tried.size(); ++i)
    if (tried[i].figures &&
        (!best || tried[i].figures->step < tried[*best].figures->step))
      best = i;
  if (best)
    return likely[*best].shard;
  InFlightDiagnostic error =
      entry->emitError("--shard: auto finds no way for tp=")
      << point.tp << " to cut parameters";
  if (!tried.empty())
    error << "; with '" << likely.front().shard << "': " << tried[0].refused;
  return error;
}
