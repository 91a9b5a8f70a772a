//===- PlanSearch.cpp - The fastest plan of a space that fits -------------===//

#include "ppopt/Search/PlanSearch.h"

#include "Bounds.h"
#include "CompiledPlan.h"
#include "Workers.h"

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Model/CountOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/byte_amount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>
#include <queue>

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::TimedCell;
using Kind = ppopt::schedule::Work;

namespace {

/// What the bound of a point follows from. Each is tighter than the one before,
/// and takes longer to know.
enum class Known {
  Nothing,
  Work,   ///< the model's work on one rank, divided by the ranks
  Cut,    ///< the work where `tp` has cut it
  Rows,   ///< a microbatch of as many rows on one place
  Stages, ///< the plan's stages, for a microbatch of as many rows
  Step,   ///< the plan is compiled
};

/// A point of the space.
struct Plan : FoundPlan {
  Known known = Known::Nothing;
  bool looksBad = false; ///< by an estimate: it does not fit, say
};

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

class Search {
public:
  Search(Compilation &compilation, const PlanSpace &space)
      : compilation(compilation), space(space), workers(compilation) {}

  FailureOr<PlanSearchResult> run();

private:
  LogicalResult enumerate();
  SmallVector<size_t> advance(Queue &queue, Known last);
  std::optional<Found> findBest(ArrayRef<size_t> among, const Limits &limits);
  std::optional<PlanBound> estimate(Plan &plan);
  void tryLikely();
  void addObvious(const PlanPoint &best);
  void addBest();
  std::optional<FoundPlan> findSmallest(const PlanSpace &of);
  void sayWhatFits();

  ProfileKey getKey(const PlanPoint &point, Known known);
  /// Returns the rows of a microbatch on a rank.
  int64_t getRows(const PlanPoint &point) const {
    return result.rows / (point.getBatchParts() * point.microbatches);
  }
  Links getLinks(const PlanPoint &point) const {
    return Links(space.base.cluster, space.base.device, point.getMesh());
  }
  ProfileKey getWantedKey(const PlanPoint &point, Known known) const;
  ProfileKey getBoundaryKey(const PlanPoint &point) const;
  const Profile &getProfile(const ProfileKey &key);
  void makeProfiles(ArrayRef<ProfileKey> keys);
  void tighten(Plan &plan, Known known);
  void compileAll(ArrayRef<Plan *> chosen);
  void refuse(Plan &plan, std::string why);

  Compilation &compilation;
  const PlanSpace &space;
  Workers workers;
  std::map<ProfileKey, Profile> profiles;
  std::map<ProfileKey, Profile> sketches; ///< by the key of stages
  std::vector<Plan> plans;
  /// How often the whole model may be compiled, but for plans to compare with,
  /// and how often it has been.
  int64_t mostCompiled = 0, wholeCompiled = 0;
  int64_t numOps = 0; ///< of the model
  PlanSearchResult result;
};

/// How many ops a search may compile, and of how large a model it compiles as
/// many plans as of a smaller one.
constexpr int64_t kMostCompiledOps = 250'000, kLeastCompiled = 64;

/// Sums up where the time of the place that computes longest goes.
PlanFigures summarize(const PlanReport &report) {
  PlanFigures most;
  int64_t memory = 0, sent = 0;
  for (auto [row, place] : llvm::zip(report.timeline.rows, report.places)) {
    PlanFigures of;
    of.step = report.timeline.end;
    for (const TimedCell &timed : row) {
      double time = timed.end - timed.start;
      if (timed.cell.work == Kind::Sum) {
        of.summing += time;
      } else if (timed.cell.work == Kind::Update) {
        of.updating += time;
      } else {
        of.computing += time - timed.waited;
        of.waiting += timed.waited;
      }
    }
    memory = std::max(memory, place.arenaBytes);
    sent = std::max(sent, place.bytesSent);
    if (of.computing > most.computing || most.step == 0)
      most = of;
  }
  most.memory = memory;
  most.sent = sent;
  return most;
}

LogicalResult Search::enumerate() {
  FailureOr<func::FuncOp> entry = findEntry(compilation.getModule());
  if (failed(entry))
    return failure();
  RankedTensorType input = findBatchInput(*entry);
  if (!input)
    return failure();
  result.rows = space.base.batch.value_or(input.getDimSize(0));
  space.forEach(result.rows, [&](const PlanPoint &point) {
    plans.emplace_back().point = point;
  });
  result.points = static_cast<int64_t>(plans.size());
  numOps = static_cast<int64_t>(countUnrolledOps(compilation.getModule()));
  mostCompiled = space.mostCompiled.value_or(
      std::max(kLeastCompiled, kMostCompiledOps / numOps));
  return success();
}

void Search::refuse(Plan &plan, std::string why) {
  plan.refused = std::move(why);
  ++result.refused;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Returns which profile a bound follows from, if it compiles.
ProfileKey Search::getWantedKey(const PlanPoint &point, Known known) const {
  ProfileKey key;
  key.isWhole = known < Known::Rows;
  key.rows = key.isWhole ? result.rows : getRows(point);
  PlanPoint &of = key.point;
  of.recompute = point.recompute;
  if (known >= Known::Cut) {
    of.tp = point.tp;
    of.shard = point.shard;
  }
  if (known == Known::Stages) {
    of.pp = point.pp;
    // Both have the same stages.
    of.schedule = point.schedule == "dualpipe-v" ? "zb-v" : point.schedule;
    of.chunks = point.chunks;
  } else if (splitsBackward(point)) {
    of.schedule = "zb-h1";
  }
  return key;
}

/// Returns the profile that tells what crosses from a place to the next.
ProfileKey Search::getBoundaryKey(const PlanPoint &point) const {
  ProfileKey key = getWantedKey(point, Known::Rows);
  key.point.pp = 2;
  key.isSketch = true;
  return key;
}

/// Returns which profile a bound follows from. The work of fewer rows is
/// bounded by that of the batch, or of one row if that does not compile.
ProfileKey Search::getKey(const PlanPoint &point, Known known) {
  ProfileKey key = getWantedKey(point, known);
  if (key.isWhole && !getProfile(key).refused.empty())
    key.rows = 1;
  return key;
}

const Profile &Search::getProfile(const ProfileKey &key) {
  if (!profiles.count(key))
    makeProfiles(key);
  return profiles[key];
}

void Search::makeProfiles(ArrayRef<ProfileKey> keys) {
  std::vector<Workers::Job> jobs;
  for (const ProfileKey &key : keys)
    if (auto [found, isNew] = profiles.try_emplace(key); isNew) {
      jobs.push_back([&, profile = &found->second](ModelCopies &copies) {
        *profile = makeProfile(copies, space, key);
      });
      if (!workers.haveLayers() || (key.point.pp > 1 && !key.isSketch))
        ++wholeCompiled;
    }
  workers.run(jobs);
}

/// Bounds the plan by what is `known`, or refuses it.
void Search::tighten(Plan &plan, Known known) {
  const PlanPoint &point = plan.point;
  plan.known = known;
  const Profile &profile = getProfile(getKey(point, known));
  if (!profile.refused.empty())
    return refuse(plan, profile.refused);
  PlanBound bound =
      known == Known::Stages
          ? boundByStages(point, profile, getLinks(point))
          : boundByWork(point, profile, getRows(point),
                        known == Known::Work ? point.tp : 1, getLinks(point));
  if (bound.memory > space.base.deviceMemory.value_or(bound.memory))
    return refuse(plan, "a rank takes at least " +
                            ::ppopt::spellByteAmount(bound.memory));
  plan.bound = std::max(plan.bound, bound.step);
}

void Search::compileAll(ArrayRef<Plan *> chosen) {
  std::vector<Workers::Job> jobs;
  std::vector<std::string> refused(chosen.size());
  for (auto [plan, why] : llvm::zip(chosen, refused))
    jobs.push_back([this, plan = plan, &why = why](ModelCopies &copies) {
      if (auto compiled =
              compilePlan(*copies.whole, space.getPlan(plan->point), why))
        plan->figures = summarize(compiled->report);
    });
  workers.run(jobs);
  for (auto [plan, why] : llvm::zip(chosen, refused)) {
    plan->known = Known::Step;
    if (plan->figures)
      plan->bound = plan->figures->step;
    else
      refuse(*plan, why);
  }
  auto count = static_cast<int64_t>(chosen.size());
  result.compiled += count;
  wholeCompiled += count;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Takes the points with the least bounds out of the queue, until something has
/// to be compiled for some of them, and tightens their bounds by one step, but
/// not beyond `last`. Returns them.
SmallVector<size_t> Search::advance(Queue &queue, Known last) {
  SmallVector<size_t> taken;
  SmallVector<ProfileKey> keys;
  SmallVector<Plan *> chosen;
  while (!queue.empty() && keys.size() + chosen.size() < Workers::kCount) {
    size_t index = queue.top().point;
    queue.pop();
    taken.push_back(index);
    Plan &plan = plans[index];
    if (plan.known == last)
      continue;
    auto next = Known(int(plan.known) + 1);
    if (next == Known::Step)
      chosen.push_back(&plan);
    else if (ProfileKey key = getWantedKey(plan.point, next);
             !profiles.count(key) && !llvm::is_contained(keys, key))
      keys.push_back(key);
  }
  makeProfiles(keys);
  compileAll(chosen);
  for (size_t index : taken)
    if (Plan &plan = plans[index]; plan.known < std::min(last, Known::Stages))
      tighten(plan, Known(int(plan.known) + 1));
  return taken;
}

/// Returns the fastest of the given points, or one that is hardly slower;
/// nothing if all are refused, or none is found within the limits. Points that
/// look bad are looked at last.
std::optional<Found> Search::findBest(ArrayRef<size_t> among,
                                      const Limits &limits) {
  Queue likely, unlikely;
  std::optional<size_t> fastest;
  int64_t figures = 0, before = wholeCompiled;
  auto put = [&](size_t index) {
    const Plan &plan = plans[index];
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
  while (wholeCompiled - before < limits.mostCompiled ||
         (!fastest && limits.goesOnWithout)) {
    if (!mayHaveFaster(likely) && !mayHaveFaster(unlikely))
      break;
    for (size_t index :
         advance(mayHaveFaster(likely) ? likely : unlikely, Known::Step))
      put(index);
  }
  if (!fastest)
    return std::nullopt;
  double step = plans[*fastest].bound, least = step;
  for (const Queue *queue : {&likely, &unlikely})
    if (!queue->empty())
      least = std::min(least, queue->top().bound);
  return Found{*fastest, step / least - 1};
}

/// Estimates a plan of which the profile of a microbatch on one place is known,
/// and notes whether it looks bad.
std::optional<PlanBound> Search::estimate(Plan &plan) {
  const PlanPoint &point = plan.point;
  const Profile &profile = getProfile(getKey(point, Known::Rows));
  constexpr int64_t leastOps = 4; // of a stage, or it is far from its share
  plan.looksBad = point.pp * point.chunks * leastOps > numOps;
  if (plan.looksBad)
    return std::nullopt;
  auto [sketch, isNew] =
      sketches.try_emplace(getWantedKey(point, Known::Stages));
  if (isNew) {
    int64_t bytes = 0;
    if (point.pp > 1)
      for (const ppopt::schedule::Edge &edge :
           getProfile(getBoundaryKey(point)).graph.edges)
        bytes += edge.isGradient ? 0 : edge.bytes;
    sketch->second = sketchStages(point, profile, bytes, getLinks(point));
  }
  PlanBound estimated =
      estimateByStages(point, sketch->second, getLinks(point));
  plan.looksBad =
      estimated.memory > space.base.deviceMemory.value_or(estimated.memory);
  if (plan.looksBad)
    return std::nullopt;
  return estimated;
}

/// Compiles plans that look fast, so that a search which does not come to its
/// end has found some, and one that does has something to compare with.
void Search::tryLikely() {
  Queue queue;
  for (auto [index, plan] : llvm::enumerate(plans))
    queue.push({plan.bound, plan.known, index});
  std::vector<std::pair<double, size_t>> likely;
  double least = std::numeric_limits<double>::infinity();
  while (!queue.empty() && queue.top().bound < least) {
    SmallVector<size_t> estimable;
    SmallVector<ProfileKey> keys;
    for (size_t index : advance(queue, Known::Rows)) {
      const Plan &plan = plans[index];
      if (!plan.refused.empty())
        continue;
      if (plan.known < Known::Rows) {
        queue.push({plan.bound, plan.known, index});
        continue;
      }
      estimable.push_back(index);
      if (plan.point.pp > 1)
        keys.push_back(getBoundaryKey(plan.point));
    }
    makeProfiles(keys);
    for (size_t index : estimable)
      if (std::optional<PlanBound> of = estimate(plans[index])) {
        likely.emplace_back(of->step, index);
        least = std::min(least, of->step);
      }
  }
  llvm::sort(likely);
  // Plans with the same stages are alike.
  constexpr int64_t alike = 2, most = 12;
  std::map<ProfileKey, int64_t> tried;
  SmallVector<Plan *> chosen;
  for (auto [step, index] : likely)
    if (tried[getWantedKey(plans[index].point, Known::Stages)]++ < alike)
      chosen.push_back(&plans[index]);
  int64_t figures = 0;
  for (ArrayRef<Plan *> rest = chosen;
       !rest.empty() && figures < most && 2 * wholeCompiled < mostCompiled;) {
    ArrayRef<Plan *> next =
        rest.take_front(std::min(rest.size(), Workers::kCount));
    compileAll(next);
    figures += llvm::count_if(
        next, [](const Plan *plan) { return plan->figures.has_value(); });
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

/// Returns the plan of a space that needs least memory, without a limit;
/// nothing if none compiles.
std::optional<FoundPlan> Search::findSmallest(const PlanSpace &of) {
  PlanSpace unlimited = of;
  unlimited.base.deviceMemory.reset();
  std::vector<std::tuple<int64_t, size_t, PlanPoint>> points;
  unlimited.forEach(result.rows, [&](const PlanPoint &point) {
    const Profile &profile = getProfile(getKey(point, Known::Cut));
    if (profile.refused.empty())
      points.emplace_back(
          boundByWork(point, profile, getRows(point), 1, getLinks(point))
              .memory,
          points.size(), point);
  });
  llvm::sort(points, [](const auto &a, const auto &b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) <
           std::pair(std::get<0>(b), std::get<1>(b));
  });
  std::optional<FoundPlan> smallest;
  constexpr int most = 100; // are compiled
  int tried = 0;
  for (auto &[bound, number, point] : points) {
    if ((smallest && bound >= smallest->figures->memory) || tried == most)
      break;
    const Profile &profile = getProfile(getKey(point, Known::Stages));
    if (!profile.refused.empty() ||
        (smallest && boundByStages(point, profile, getLinks(point)).memory >=
                         smallest->figures->memory))
      continue;
    std::string refused;
    std::optional<PlanFigures> figures;
    workers.run(Workers::Job([&, &point = point](ModelCopies &copies) {
      if (auto compiled =
              compilePlan(*copies.whole, unlimited.getPlan(point), refused))
        figures = summarize(compiled->report);
    }));
    ++tried;
    if (figures && (!smallest || figures->memory < smallest->figures->memory))
      smallest = {point, figures->step, figures, ""};
  }
  return smallest;
}

/// Finds with how much memory, and with how many ranks, a plan would fit.
void Search::sayWhatFits() {
  if (!space.base.deviceMemory)
    return;
  result.smallest = findSmallest(space);
  int64_t most = space.base.cluster ? space.base.cluster->getDevices() / 2
                                    : int64_t(1) << 16;
  PlanSpace wider = space;
  while (result.smallest && result.ranksNeeded == 0 && wider.ranks <= most) {
    wider.ranks *= 2;
    std::optional<FoundPlan> found = findSmallest(wider);
    if (!found) // its batch does not divide, say
      return;
    if (found->figures->memory <= *space.base.deviceMemory)
      result.ranksNeeded = wider.ranks;
  }
}

/// Of the plans that are compiled, the fastest.
void Search::addBest() {
  std::vector<const Plan *> compiled;
  for (const Plan &plan : plans)
    if (plan.figures)
      compiled.push_back(&plan);
  llvm::sort(compiled, [](const Plan *a, const Plan *b) {
    return std::pair(a->bound, a) < std::pair(b->bound, b);
  });
  for (const Plan *plan : ArrayRef(compiled).take_front(kPlansShown))
    result.best.push_back(*plan);
}

FailureOr<PlanSearchResult> Search::run() {
  if (failed(enumerate()))
    return failure();
  auto all = llvm::to_vector(llvm::seq<size_t>(0, plans.size()));
  if (workers.haveLayers())
    tryLikely();
  std::optional<Found> best = findBest(
      all, {kPlansShown, std::max<int64_t>(mostCompiled - wholeCompiled, 0),
            /*goesOnWithout=*/true});
  if (best) {
    result.gap = best->gap;
    if (best->gap > kTolerance)
      result.endedAfter = wholeCompiled;
    addObvious(plans[best->point].point);
    addBest();
  } else {
    result.why = plans.empty() ? "" : plans.front().refused;
    sayWhatFits();
  }
  return std::move(result);
}

} // namespace

/// Returns whether the model says what tp cuts.
static bool isAnnotated(ModuleOp module) {
  auto cuts = [](ShardingAttr sharding) {
    return sharding && llvm::any_of(sharding.getCuts(), [](const DimCut &cut) {
             return cut.axis.getValue() == "tp";
           });
  };
  WalkResult ofParams = module.walk([&](ParamOp param) {
    return WalkResult(failure(cuts(param.getShardAttr())));
  });
  WalkResult ofInputs = module.walk([&](func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (cuts(function.getArgAttrOfType<ShardingAttr>(i, kShardAttr)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return ofParams.wasInterrupted() || ofInputs.wasInterrupted();
}

/// Returns whether a step of the model depends on the number of microbatches.
static bool computesByMicrobatch(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return WalkResult(failure(isa<PerMicrobatchOp, BatchNormOp>(op)));
  });
  return result.wasInterrupted();
}

FailureOr<PlanSearchResult> pp::searchPlans(Compilation &compilation,
                                            const PlanSpace &space) {
  PlanSpace same = space;
  if (space.base.shard.empty() && !isAnnotated(compilation.getModule()))
    same.shard = "auto";
  if (computesByMicrobatch(compilation.getModule()))
    same.choosesMicrobatches = false;
  return Search(compilation, same).run();
}
