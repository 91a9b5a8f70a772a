//===- PlanSearch.cpp - The fastest plan of a space that fits -------------===//

#include "ppopt/Search/PlanSearch.h"

#include "ShardingChoice.h"

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>
#include <queue>

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A point in the queue.
struct Entry {
  double bound;
  Known known;
  size_t point;

  /// Of equal bounds, the one that is known best comes first, then the one that
  /// was enumerated first.
  bool operator>(const Entry &other) const {
    return std::tuple(bound, -int(known), point) >
           std::tuple(other.bound, -int(other.known), other.point);
  }
};

using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

/// What a search among points may compile, and must.
struct Limits {
  int64_t leastFigures = 1;   ///< plans that compile, if there are as many
  int64_t mostCompiled = 0;   ///< of the whole model
  bool goesOnWithout = false; ///< over the limit, while nothing is found
};

/// What a search among points has found.
struct Found {
  size_t point;
  double gap; ///< as in PlanSearchResult
};

/// The plan that needs least memory, and whether plans of its space compile, as
/// far as is known.
struct Smallest {
  std::optional<FoundPlan> plan;
  bool compiles = false;
  std::string refused; ///< why the first that does not compile does not
};

/// How many ops a search may compile, and of how large a model it compiles as
/// many plans as of a smaller one.
constexpr int64_t kMostCompiledOps = 100'000, kLeastCompiled = 48;

/// A bound that no plan has.
constexpr double kNever = std::numeric_limits<double>::infinity();

class Search {
public:
  Search(Compilation &compilation, const PlanSpace &of)
      : space(of), plans(compilation, space) {}

  FailureOr<PlanSearchResult> run();

private:
  void advance(Queue &queue, Known last, double enough,
               llvm::function_ref<void(size_t)> put);
  std::optional<Found> findBest(ArrayRef<size_t> among, const Limits &limits);
  void tryLikely();
  void addObvious(const PlanPoint &best);
  void addBest();
  Smallest findSmallest(const PlanSpace &of,
                        std::optional<int64_t> enough = std::nullopt);
  void sayWhatFits();

  PlanSpace space;
  KnownPlans plans;
  /// How often the whole model may be compiled, but for plans to compare with.
  int64_t mostCompiled = 0;
  PlanSearchResult result;
};

/// Takes points whose bounds are less than `enough` out of the queue, the least
/// ones first, tightens their bounds by one step, but not beyond `last`, and
/// puts them back. Ends when as many things have been compiled as are worth
/// waiting for together.
void Search::advance(Queue &queue, Known last, double enough,
                     llvm::function_ref<void(size_t)> put) {
  SmallVector<size_t> taken;
  SmallVector<ProfileKey> keys, boundaries;
  SmallVector<KnownPlan *> chosen;
  while (!queue.empty() && queue.top().bound < enough &&
         keys.size() + chosen.size() < Workers::kCount) {
    size_t index = queue.top().point;
    queue.pop();
    KnownPlan &plan = plans[index];
    if (plan.known == last) {
      put(index);
      continue;
    }
    auto next = Known(int(plan.known) + 1);
    if (next == Known::Rows && last == Known::Rows && plan.point.pp > 1)
      boundaries.push_back(plans.getBoundaryKey(plan.point));
    if (next == Known::Step) {
      chosen.push_back(&plan);
    } else if (ProfileKey key = plans.getKey(plan.point, next);
               plans.hasProfile(key)) {
      plans.tighten(plan, next);
      put(index);
      continue;
    } else if (!llvm::is_contained(keys, key)) {
      keys.push_back(key);
    }
    taken.push_back(index);
  }
  llvm::append_range(keys, boundaries); // which the estimates will need
  plans.makeProfiles(keys);
  plans.compile(chosen);
  for (size_t index : taken) {
    if (KnownPlan &plan = plans[index]; plan.known < Known::Stages)
      plans.tighten(plan, Known(int(plan.known) + 1));
    put(index);
  }
}

/// Returns the fastest of the given points, or one that is hardly slower;
/// nothing if all are refused, or none is found within the limits. Points that
/// look bad are looked at last.
std::optional<Found> Search::findBest(ArrayRef<size_t> among,
                                      const Limits &limits) {
  Queue likely, unlikely;
  std::optional<size_t> fastest;
  int64_t figures = 0, before = plans.getWholeCompiled();
  auto put = [&](size_t index) {
    const KnownPlan &plan = plans[index];
    if (!plan.refused.empty())
      return;
    if (!plan.figures)
      return (plan.looksBad ? unlikely : likely)
          .push({plan.bound, plan.known, index});
    ++figures;
    if (!fastest || plan.bound < plans[*fastest].bound)
      fastest = index;
  };
  llvm::for_each(among, put);
  auto mayHaveFaster = [&](const Queue &queue) {
    return !queue.empty() &&
           (!fastest || figures < limits.leastFigures ||
            plans[*fastest].bound > (1 + kTolerance) * queue.top().bound);
  };
  while (plans.getWholeCompiled() - before < limits.mostCompiled ||
         (!fastest && limits.goesOnWithout)) {
    if (!mayHaveFaster(likely) && !mayHaveFaster(unlikely))
      break;
    double enough = fastest && figures >= limits.leastFigures
                        ? plans[*fastest].bound / (1 + kTolerance)
                        : kNever;
    advance(mayHaveFaster(likely) ? likely : unlikely, Known::Step, enough,
            put);
  }
  if (!fastest)
    return std::nullopt;
  double step = plans[*fastest].bound, least = step;
  for (const Queue *queue : {&likely, &unlikely})
    if (!queue->empty())
      least = std::min(least, queue->top().bound);
  return Found{*fastest, step / least - 1};
}

/// Compiles plans that look fast, so that a search which does not come to its
/// end has found some, and one that does has something to compare with.
void Search::tryLikely() {
  Queue queue;
  for (auto [index, plan] : llvm::enumerate(plans))
    queue.push({plan.bound, plan.known, index});
  std::vector<std::pair<double, size_t>> likely;
  double least = kNever;
  while (!queue.empty() && queue.top().bound < least) {
    SmallVector<size_t> estimable;
    advance(queue, Known::Rows, least, [&](size_t index) {
      const KnownPlan &plan = plans[index];
      if (!plan.refused.empty())
        return;
      if (plan.known < Known::Rows)
        queue.push({plan.bound, plan.known, index});
      else
        estimable.push_back(index);
    });
    for (auto [index, of] : llvm::zip(estimable, plans.estimate(estimable)))
      if (of) {
        likely.emplace_back(of->step, index);
        least = std::min(least, of->step);
      }
  }
  llvm::sort(likely);
  // Plans with the same stages are alike.
  constexpr int64_t alike = 2, most = 12;
  std::map<ProfileKey, int64_t> tried;
  SmallVector<KnownPlan *> chosen;
  for (auto [step, index] : likely)
    if (tried[plans.getKey(plans[index].point, Known::Stages)]++ < alike)
      chosen.push_back(&plans[index]);
  int64_t figures = 0;
  for (ArrayRef<KnownPlan *> rest = chosen;
       !rest.empty() && figures < most &&
       2 * plans.getWholeCompiled() < mostCompiled;) {
    ArrayRef<KnownPlan *> next =
        rest.take_front(std::min(rest.size(), Workers::kCount));
    plans.compile(next);
    figures += llvm::count_if(
        next, [](const KnownPlan *plan) { return plan->figures.has_value(); });
    rest = rest.drop_front(next.size());
  }
}

/// Adds what people would try beside the plan that was found: with its
/// --recompute, and the schedule that each knows.
void Search::addObvious(const PlanPoint &best) {
  int64_t ranks = space.ranks;
  if (ranks == 1)
    return;
  constexpr int64_t most = 8; // are compiled of each kind
  auto add = [&](StringRef title,
                 llvm::function_ref<bool(const PlanPoint &)> has) {
    SmallVector<size_t> found;
    for (auto [index, plan] : llvm::enumerate(plans))
      if (has(plan.point) && plan.point.recompute == best.recompute &&
          (plan.point.schedule == "1f1b" || !space.choosesSchedule))
        found.push_back(index);
    if (found.empty())
      return;
    std::optional<Found> fastest = findBest(found, {1, most});
    auto *refused = llvm::find_if(
        found, [&](size_t index) { return !plans[index].refused.empty(); });
    result.obvious.push_back(
        {title.str(), plans[fastest                  ? fastest->point
                            : refused != found.end() ? *refused
                                                     : found.front()]});
  };
  add("data parallel", [&](const PlanPoint &point) {
    return point.dp == ranks && point.zero == 0;
  });
  add("fully sharded", [&](const PlanPoint &point) {
    return point.getShards() == ranks && point.zero == 3;
  });
  add("tensor parallel",
      [&](const PlanPoint &point) { return point.tp == ranks; });
  add("pipeline", [&](const PlanPoint &point) { return point.pp == ranks; });
}

/// Returns the plan of a space that needs least memory, without a limit; if
/// `enough` is given, the first that is found to need no more. Sets no plan if
/// none compiles, or none needs so little.
Smallest Search::findSmallest(const PlanSpace &of,
                              std::optional<int64_t> enough) {
  PlanSpace unlimited = of;
  unlimited.base.deviceMemory.reset();
  Smallest smallest;
  auto isRefused = [&](const std::string &why) {
    if (smallest.refused.empty())
      smallest.refused = why;
    return !why.empty();
  };
  std::vector<std::tuple<int64_t, size_t, PlanPoint>> points;
  unlimited.forEach(plans.getRows(), [&](const PlanPoint &point) {
    const Profile &profile = plans.getProfile(point, Known::Cut);
    if (!isRefused(profile.refused))
      points.emplace_back(plans.bound(point, Known::Cut, profile).memory,
                          points.size(), point);
  });
  llvm::sort(points, [](const auto &a, const auto &b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) <
           std::pair(std::get<0>(b), std::get<1>(b));
  });
  constexpr int most = 100; // are compiled
  int tried = 0;
  int64_t below = enough ? *enough + 1 : std::numeric_limits<int64_t>::max();
  for (auto &[bound, number, point] : points) {
    smallest.compiles |= bound >= below;
    if (bound >= below || tried == most || (enough && smallest.plan))
      break;
    const Profile &profile = plans.getProfile(point, Known::Stages);
    if (isRefused(profile.refused))
      continue;
    smallest.compiles = true;
    if (plans.bound(point, Known::Stages, profile).memoryAsCut >= below)
      continue;
    TriedPlan made = plans.tryPlans(unlimited.getPlan(point)).front();
    std::optional<PlanFigures> &figures = made.figures;
    ++tried;
    if (isRefused(made.refused) || !figures || figures->memory >= below)
      continue;
    smallest.plan = {point, figures->step, figures, ""};
    below = figures->memory;
  }
  return smallest;
}

/// Finds with how much memory, and with how many ranks, a plan would fit.
void Search::sayWhatFits() {
  if (!space.base.deviceMemory)
    return;
  Smallest smallest = findSmallest(space);
  result.smallest = smallest.plan;
  if (!smallest.plan && !smallest.refused.empty())
    result.why = smallest.refused; // whatever the limit is
  int64_t most = space.base.cluster ? space.base.cluster->getDevices() / 2
                                    : int64_t(1) << 16;
  PlanSpace wider = space;
  while (result.smallest && result.ranksNeeded == 0 && wider.ranks <= most) {
    wider.ranks *= 2;
    Smallest found = findSmallest(wider, space.base.deviceMemory);
    if (!found.compiles) // its batch does not divide, say
      return;
    if (found.plan)
      result.ranksNeeded = wider.ranks;
  }
}

/// Of the plans that are compiled, the fastest.
void Search::addBest() {
  std::vector<const KnownPlan *> compiled;
  for (const KnownPlan &plan : plans)
    if (plan.figures)
      compiled.push_back(&plan);
  llvm::sort(compiled, [](const KnownPlan *a, const KnownPlan *b) {
    return std::pair(a->bound, a) < std::pair(b->bound, b);
  });
  for (const KnownPlan *plan : ArrayRef(compiled).take_front(kPlansShown))
    result.best.push_back(*plan);
}

FailureOr<PlanSearchResult> Search::run() {
  if (failed(plans.readModel()))
    return failure();
  if (space.choosesShards)
    chooseShards(plans, space);
  plans.enumerate();
  result.rows = plans.getRows();
  result.points = static_cast<int64_t>(plans.size());
  mostCompiled = space.mostCompiled.value_or(
      std::max(kLeastCompiled, kMostCompiledOps / plans.getNumOps()));
  auto all = llvm::to_vector(llvm::seq<size_t>(0, plans.size()));
  if (plans.haveLayers())
    tryLikely();
  std::optional<Found> best = findBest(
      all, {kPlansShown,
            std::max<int64_t>(mostCompiled - plans.getWholeCompiled(), 0),
            /*goesOnWithout=*/true});
  if (best) {
    result.gap = best->gap;
    if (best->gap > kTolerance)
      result.endedAfter = plans.getWholeCompiled();
    addObvious(plans[best->point].point);
    addBest();
  } else {
    result.why = plans.size() == 0 ? "" : plans[0].refused;
    sayWhatFits();
  }
  result.compiled = plans.getCompiled();
  result.refused = plans.getRefused();
  result.profiles = plans.countProfiles();
  result.sketches = plans.countSketches();
  result.simulations = plans.countSimulations();
  return std::move(result);
}

} // namespace

/// Returns whether a step of the model depends on the number of microbatches.
static bool computesByMicrobatch(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return WalkResult(failure(isa<PerMicrobatchOp, BatchNormOp>(op)));
  });
  return result.wasInterrupted();
}

PlanSpace pp::fitToModel(PlanSpace space, ModuleOp model) {
  if (computesByMicrobatch(model))
    space.choosesMicrobatches = false;
  return space;
}

FailureOr<PlanSearchResult> pp::searchPlans(Compilation &compilation,
                                            const PlanSpace &space) {
  PlanSpace fitting = fitToModel(space, compilation.getModule());
  return Search(compilation, fitting).run();
}
