//===- Bounds.cpp - What a plan takes at least ----------------------------===//

#include "Bounds.h"

#include "ppopt/Analysis/PlanSchedule.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::pp;
using ppopt::geometry::Collective;

bool pp::splitsBackward(const PlanPoint &point) {
  auto shape = ppopt::schedule::getShape(point.schedule, std::nullopt);
  return shape && shape->splitsBackward;
}

/// Returns the time of the busiest of the point's places, if the work of each
/// consists of the same parts, for a model that is busy for so long in a step
/// and passes its first microbatch on after so long.
///
/// Let place p be busy for A_p, of which k·A_p passes before the place after it
/// can begin. A step takes at least max_p(k·(A_0 + … + A_p-1) + A_p). This is
/// least where all terms are equal, X: then A_0 + … + A_p-1 =
/// X·(1 - (1 - k)^p) / k, and all places together are busy for
/// X·(1 - (1 - k)^pp) / k.
static double boundPipeline(int64_t places, double busy, double passed) {
  if (places == 1 || busy <= 0)
    return busy;
  double share = passed / busy;
  return share > 0 ? passed / -std::expm1(double(places) * std::log1p(-share))
                   : busy / double(places);
}

/// How long collectives over the ranks that split the batch are in flight at
/// least, on a place.
struct CollectiveTimes {
  double sums = 0;    ///< of gradients, while backwards run
  double gathers = 0; ///< of parameters, while anything runs
};

static CollectiveTimes boundCollectives(const PlanPoint &point,
                                        int64_t gradients, int64_t parameters,
                                        const Links &links) {
  CollectiveTimes times;
  if (point.getBatchParts() == 1)
    return times;
  auto estimate = [&](Collective kind, int64_t bytes,
                      std::vector<std::string> axes) {
    return links.estimateTime(kind, bytes, {std::move(axes), {}}, /*place=*/0);
  };
  if (point.zero == 0 && point.fsdp == 1) {
    times.sums = estimate(Collective::AllReduce, gradients, {"dp"});
    return times;
  }
  auto microbatches = static_cast<double>(point.microbatches);
  std::string sharded = point.fsdp > 1 ? "fsdp" : "dp";
  times.sums = estimate(Collective::ReduceScatter, gradients, {sharded});
  if (point.zero >= 2) // each task sums what it computes
    times.sums *= microbatches;
  if (point.getShards() < point.getBatchParts())
    times.sums +=
        estimate(Collective::AllReduce, gradients / point.getShards(), {"dp"});
  if (point.zero == 0) { // level by level
    times.sums += estimate(Collective::AllGather, gradients, {sharded});
    return times;
  }
  times.gathers = estimate(Collective::AllGather, parameters, {sharded}) *
                  (point.gathersInTasks ? microbatches : 1);
  return times;
}

/// Returns what a step takes at least that computes for so long, the backwards
/// of a microbatch for a part of it.
static double addCollectives(const PlanPoint &point, double computing,
                             double backward, const CollectiveTimes &of) {
  // Gradients are summed while backwards run: without shards of them, while
  // the last one does.
  if (point.zero >= 2)
    backward *= static_cast<double>(point.microbatches);
  return std::max(
      {computing, of.sums + of.gathers, computing + of.sums - backward});
}

/// Returns the bytes of what a rank holds all the time.
static int64_t getStateBytes(const PlanPoint &point, int64_t parameters,
                             int64_t gradients, int64_t optimizer) {
  auto share = [&](int64_t bytes, int64_t stage) {
    return point.zero >= stage ? bytes / point.getShards() : bytes;
  };
  return share(parameters, point.gathersInTasks ? 3 : 4) + share(gradients, 2) +
         share(optimizer, 1);
}

/// Returns a rank's part of the time of an update of all shards.
static double shareUpdate(const PlanPoint &point, double update) {
  return point.zero > 0 ? update / double(point.getShards()) : update;
}

/// Returns which part of the forward a pipeline need not compute again under
/// --recompute layer, of what one place does: the last layer of each stage.
static double getKeptShare(const PlanPoint &point, const Profile &profile) {
  if (point.pp == 1 || point.recompute != Recompute::layer)
    return 0;
  return profile.depth > 0
             ? std::min(1.0, double(point.pp * point.chunks) / profile.depth)
             : 1;
}

PlanBound pp::boundByWork(const PlanPoint &point, const Profile &profile,
                          int64_t rows, int64_t cuts, const Links &links) {
  double share = double(rows) / double(profile.rows) / double(cuts);
  auto microbatches = static_cast<double>(point.microbatches);
  bool isSame = rows == profile.rows && cuts == 1;
  StepTimes times = isSame ? profile.getTimes() : profile.least;
  double forward = share * times.forward, backward = share * times.backward;
  backward -= std::min(backward, getKeptShare(point, profile) * forward);
  double passed =
      (forward + (splitsBackward(point) ? 0 : backward)) / double(point.chunks);
  double busy = microbatches * (forward + backward) +
                shareUpdate(point, times.update / double(cuts));
  const PlaceProfile &place = profile.places.front();
  int64_t parts = point.pp * cuts;
  double step = std::max(boundPipeline(point.pp, busy, passed),
                         microbatches * share * profile.longestMatmul);
  int64_t memory = (getStateBytes(point, place.parameters, place.gradients,
                                  place.optimizer) /
                        cuts +
                    static_cast<int64_t>(share * double(place.saved))) /
                   point.pp;
  return {addCollectives(point, step, point.pp == 1 ? backward : step,
                         boundCollectives(point, place.gradients / parts,
                                          place.parameters / parts, links)),
          memory, memory};
}

/// Returns the least memory with which places hold all states of the model and
/// what it saves of a microbatch, of which each place has as many in flight,
/// wherever the model is cut. With less, even if states and what is saved could
/// be dealt out freely, they would not fit.
static int64_t boundMemory(int64_t states, int64_t saved,
                           SmallVector<int64_t> inFlight, int64_t most) {
  llvm::sort(inFlight); // it takes least where fewest are in flight
  auto fits = [&](int64_t memory) {
    int64_t left = saved, room = 0;
    for (int64_t microbatches : inFlight) {
      int64_t here =
          microbatches == 0 ? left : std::min(left, memory / microbatches);
      left -= here;
      room += memory - here * microbatches;
    }
    return left == 0 && room >= states;
  };
  int64_t least = 0;
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (fits(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

PlanBound pp::boundByStages(const PlanPoint &point, const Profile &profile,
                            const Links &links) {
  const SimulatedStages *stages = profile.simulate(point, links);
  if (!stages) // compiling says why
    return {};
  PlanBound bound;
  int64_t allStates = 0, allSaved = 0;
  for (auto [number, place] : llvm::enumerate(profile.places)) {
    auto index = static_cast<int>(number);
    double backward = 0;
    for (const ppopt::schedule::Stage &stage : profile.graph.stages)
      if (stage.place == index && stage.hasBackward)
        backward += stage.inputTime + stage.weightTime;
    double end = stages->ends[number] + shareUpdate(point, place.update);
    // With several places a place sums its gradients while it waits, too.
    bound.step =
        std::max({bound.step, stages->end,
                  addCollectives(point, end, point.pp == 1 ? backward : end,
                                 boundCollectives(point, place.gradients,
                                                  place.parameters, links))});
    int64_t states = getStateBytes(point, place.parameters, place.gradients,
                                   place.optimizer);
    allStates += states;
    allSaved += place.saved;
    bound.memoryAsCut = std::max(
        bound.memoryAsCut, states + place.saved * stages->inFlight[number]);
  }
  bound.memory = boundMemory(allStates, allSaved,
                             llvm::to_vector_of<int64_t>(stages->inFlight),
                             bound.memoryAsCut);
  return bound;
}

Profile pp::sketchStages(const PlanPoint &point, const Profile &profile,
                         int64_t bytesBetween, const Links &links) {
  auto shape = ppopt::schedule::getShape(point.schedule,
                                         point.schedule == "interleaved"
                                             ? std::optional(int(point.chunks))
                                             : std::nullopt);
  std::vector<int> placeOf =
      ppopt::schedule::placeStages(*shape, static_cast<int>(point.pp));
  auto stages = static_cast<int64_t>(placeOf.size());
  const ppopt::schedule::Stage &whole = profile.graph.stages.front();
  auto share = [&](double time) { return time / double(stages); };
  Profile made;
  made.graph = ppopt::schedule::makeChain(
      placeOf, share(whole.forwardTime), share(whole.inputTime),
      share(whole.weightTime), bytesBetween);
  made.between = links.getLevelOfPlaces().transfer;
  PlaceProfile of = profile.places.front();
  for (int64_t *bytes : {&of.parameters, &of.gradients, &of.optimizer})
    *bytes /= point.pp;
  of.inFlight /= stages;
  of.update /= double(point.pp);
  made.places.assign(point.pp, of);
  return made;
}

PlanBound pp::estimateByStages(const PlanPoint &point, const Profile &sketch,
                               const Links &links) {
  const SimulatedStages *stages = sketch.simulate(point, links);
  if (!stages)
    return {std::numeric_limits<double>::infinity(), 0, 0};
  const PlaceProfile &place = sketch.places.front();
  CollectiveTimes of =
      boundCollectives(point, place.gradients, place.parameters, links);
  double gathers = of.gathers * (point.gathersInTasks ? 2 : 1); // and backwards
  int64_t memory =
      getStateBytes(point, place.parameters, place.gradients, place.optimizer) +
      place.once + place.inFlight * *llvm::max_element(stages->inFlight);
  return {stages->end + shareUpdate(point, place.update) + of.sums + gathers,
          memory, memory};
}
