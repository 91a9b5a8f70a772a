//===- Profiles.cpp - What a model takes without data parallelism ---------===//

#include "Profiles.h"

#include "CompiledPlan.h"

#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NeededOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace schema = ppopt::schema;

/// Returns the device whose rates are the highest of those at all sizes, also
/// beside collectives, and which starts work at once.
static Device makeIdeal(Device device) {
  auto keepHighest = [](std::vector<double> &rates) {
    rates = {*llvm::max_element(rates)};
  };
  for (schema::MatmulRates &matmul : device.matmuls) {
    matmul.m = matmul.n = matmul.k = {1};
    keepHighest(matmul.rates);
    keepHighest(matmul.transposed);
    matmul.aliased = std::min(matmul.aliased, 1.0);
  }
  double rate = 0;
  for (const schema::MemoryRate &memory : device.memory)
    rate = std::max(rate, memory.rate);
  device.memory = {{1, rate}};
  device.launch = 0;
  device.multiprocessors.reset();
  device.localThreads.collective.latency = 0;
  if (device.processes)
    device.processes->collective.latency = 0;
  return device;
}

/// Returns the cluster whose links begin to send at once.
static std::optional<Cluster> makeIdeal(std::optional<Cluster> cluster) {
  if (cluster)
    for (schema::Level &level : cluster->levels)
      level.collective.latency = level.transfer.latency = 0;
  return cluster;
}

/// Returns the time of a place's update.
static double getUpdate(const std::vector<ppopt::schedule::TimedCell> &row) {
  double time = 0;
  for (const ppopt::schedule::TimedCell &timed : row)
    if (timed.cell.work == ppopt::schedule::Work::Update)
      time += timed.end - timed.start;
  return time;
}

static std::vector<PlaceProfile> describePlaces(const PlanReport &report) {
  std::vector<PlaceProfile> places;
  for (auto [number, place] : llvm::enumerate(report.places)) {
    PlaceProfile &of = places.emplace_back();
    of.parameters = place.memory.lookup("parameters");
    of.gradients = place.memory.lookup("gradients");
    of.optimizer = place.memory.lookup("optimizer");
    of.once = place.arenaBytes - of.parameters - of.gradients - of.optimizer;
    of.update = getUpdate(report.timeline.rows[number]);
    of.saved = std::numeric_limits<int64_t>::max();
    for (auto [stage, node] : llvm::zip(report.stages, report.graph.stages))
      if (node.place == static_cast<int>(number))
        of.saved = std::min(of.saved, stage.savedBytes);
  }
  return places;
}

static StepTimes sumTimes(const ppopt::schedule::StageGraph &graph,
                          ArrayRef<PlaceProfile> places) {
  StepTimes times;
  for (const ppopt::schedule::Stage &stage : graph.stages) {
    times.forward += stage.forwardTime;
    if (stage.hasBackward)
      times.backward += stage.inputTime + stage.weightTime;
  }
  for (const PlaceProfile &place : places)
    times.update += place.update;
  return times;
}

StepTimes Profile::getTimes() const { return sumTimes(graph, places); }

const SimulatedStages *Profile::simulate(const PlanPoint &point,
                                         const Links &links) const {
  using namespace ppopt::schedule;
  auto [found, isNew] =
      simulated.try_emplace({point.schedule, point.microbatches,
                             between ? 0 : links.getStrideOfPlaces()});
  std::optional<SimulatedStages> &stages = found->second;
  if (!isNew)
    return stages ? &*stages : nullptr;
  if (auto table = generate(point.schedule, graph, int(point.microbatches))) {
    Table separated = separateBackwards(*table);
    EdgeLinks edges = between ? EdgeLinks(graph.edges.size(),
                                          {between->latency, between->rate})
                              : getEdgeLinks(links, graph);
    Timeline timeline = ppopt::schedule::simulate(separated, graph, edges);
    stages.emplace().end = timeline.end;
    for (auto [place, row] : llvm::enumerate(timeline.rows)) {
      stages->ends.push_back(row.empty() ? 0 : row.back().end);
      stages->inFlight.push_back(
          timeline.getInFlight(separated, graph, int(place)));
    }
  }
  return stages ? &*stages : nullptr;
}

/// Returns the time of the matmuls of some work, without the bytes that they
/// move, of which a kernel before or after may spare some.
static double getMatmulTime(const Work &work, const Device &device) {
  Work matmuls;
  for (const MatmulWork &matmul : work.matmuls)
    matmuls.addMatmul(matmul);
  return matmuls.getTime(device);
}

/// Returns the longest time on a device of a matmul with its gradient, of those
/// that the loss of a module in phase placed needs.
static double findLongestMatmul(ModuleOp module, const Device &device) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry))
    return 0;
  Block &body = entry->getBody().front();
  DenseSet<Operation *> needed =
      findNeededOps({body.getTerminator()->getOperand(0)});
  DenseSet<Value> learns; // values that a trained parameter changes
  double longest = 0;
  body.walk([&](Operation *op) {
    if (!needed.contains(op))
      return;
    for (Value result : op->getResults())
      if (Value passedOn = getPassedOn(result);
          passedOn && learns.contains(passedOn))
        learns.insert(result);
    SmallVector<bool> gradients;
    for (Value operand : op->getOperands())
      gradients.push_back(learns.contains(operand));
    auto param = dyn_cast<ParamOp>(op);
    if (param ? !param.getFrozen() && !param.getState()
              : isa<DifferentiableOpInterface, CopyOp>(op) &&
                    llvm::is_contained(gradients, true))
      learns.insert(op->result_begin(), op->result_end());
    if (isMatmul(op))
      longest = std::max(
          longest,
          getMatmulTime(estimateWork(op), device) +
              getMatmulTime(estimateBackwardWork(op, gradients), device));
  });
  return longest;
}

namespace {
/// Gives all links of a module's cluster the rates of those between places
/// while it exists: the cut into stages heeds what transfers take.
class FarPlaces {
public:
  FarPlaces(ModuleOp module, const schema::LinkRates &between)
      : module(module), cluster(getCluster(module)) {
    if (!cluster || between.rate == 0)
      return;
    Cluster far = *cluster;
    for (schema::Level &level : far.levels)
      level.transfer = between;
    setCluster(module, far);
  }
  ~FarPlaces() { setCluster(module, cluster); }

private:
  ModuleOp module;
  const std::optional<Cluster> cluster;
};
} // namespace

/// Returns the plan that a profile is of.
static PlanOptions getProfiled(const PlanSpace &space, const ProfileKey &key) {
  PlanOptions plan = space.getPlan(key.point);
  plan.deviceMemory.reset();
  plan.batch = key.rows;
  return plan;
}

/// Ranks that split the batch may put places so far from each other that a
/// value is sent in parts which the ranks of a profile send whole.
static void sendInParts(const PlanOptions &plan, const ProfileKey &key,
                        ppopt::schedule::StageGraph &graph) {
  if (plan.cutTransfers == TransferCuts::Auto)
    for (ppopt::schedule::Edge &edge : graph.edges)
      edge.bytes /= key.point.tp;
}

static Profile compileWhole(Compilation &compilation, const PlanSpace &space,
                            const ProfileKey &key) {
  PlanOptions plan = getProfiled(space, key);
  if (key.isWhole)
    plan.blockBytes = PlanOptions::kNever;
  Profile profile;
  FarPlaces far(compilation.getModule(), key.between);
  auto compiled =
      compilePlan(compilation, plan, profile.refused, [&](ModuleOp placed) {
        // Nothing is cut yet.
        profile.longestMatmul =
            findLongestMatmul(placed, makeIdeal(getDevice(placed))) /
            static_cast<double>(key.point.tp);
      });
  if (!compiled)
    return profile;
  PlanReport &report = compiled->report;
  profile.rows = report.batch;
  profile.places = describePlaces(report);
  profile.graph = report.graph;
  sendInParts(plan, key, profile.graph);
  if (!key.isWhole)
    return profile;
  setDevice(*compiled->module, makeIdeal(getDevice(*compiled->module)));
  setCluster(*compiled->module, makeIdeal(getCluster(*compiled->module)));
  if (succeeded(predictLaunches(*compiled->module, report)))
    profile.least = sumTimes(report.graph, describePlaces(report));
  return profile;
}

/// Finds what crosses from a place to the next. It follows from the tasks: no
/// kernels are formed, and no time is estimated.
static Profile compileSketch(Compilation &compilation, const PlanSpace &space,
                             const ProfileKey &key) {
  PlanOptions plan = getProfiled(space, key);
  Profile profile;
  auto module = compilation.tryPlan(plan, Phase::Partitioned, &profile.refused);
  if (!module)
    return profile;
  FailureOr<PlanOp> made = findPlan(*module);
  if (succeeded(made))
    profile.graph = makeUntimedGraph(*module, *made);
  sendInParts(plan, key, profile.graph);
  return profile;
}

//===----------------------------------------------------------------------===//
// Equal layers
//===----------------------------------------------------------------------===//

namespace {
/// Continues the line through the figures for two and for three layers.
class Extrapolation {
public:
  explicit Extrapolation(int64_t depth) : more(depth - 3) {}

  template <typename T> void apply(const T &two, T &three) const {
    three += static_cast<T>(more) * (three - two);
  }
  void apply(const StepTimes &two, StepTimes &three) const {
    apply(two.forward, three.forward);
    apply(two.backward, three.backward);
    apply(two.update, three.update);
  }
  void apply(const PlaceProfile &two, PlaceProfile &three) const {
    apply(two.parameters, three.parameters);
    apply(two.gradients, three.gradients);
    apply(two.optimizer, three.optimizer);
    apply(two.saved, three.saved);
    apply(two.update, three.update);
  }
  void apply(const ppopt::schedule::Stage &two,
             ppopt::schedule::Stage &three) const {
    apply(two.forwardTime, three.forwardTime);
    apply(two.inputTime, three.inputTime);
    apply(two.weightTime, three.weightTime);
  }

private:
  const int64_t more;
};
} // namespace

Profile pp::compileProfile(ModelCopies &copies, const PlanSpace &space,
                           const ProfileKey &key, Layers layers) {
  Compilation &model = layers == Layers::Two     ? *copies.two
                       : layers == Layers::Three ? *copies.three
                                                 : *copies.whole;
  return key.isSketch ? compileSketch(model, space, key)
                      : compileWhole(model, space, key);
}

Profile pp::extrapolate(const Profile &two, Profile three, int64_t depth) {
  if (!two.refused.empty())
    return two;
  if (!three.refused.empty())
    return three;
  Extrapolation extrapolation(depth);
  three.depth = depth;
  extrapolation.apply(two.least, three.least);
  PlaceProfile &place = three.places.front();
  int64_t ofLayer = place.once - two.places.front().once;
  place.inFlight = depth * ofLayer;
  place.once -= 3 * ofLayer;
  extrapolation.apply(two.places.front(), place);
  extrapolation.apply(two.graph.stages.front(), three.graph.stages.front());
  return three;
}
