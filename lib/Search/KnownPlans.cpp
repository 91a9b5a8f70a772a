//===- KnownPlans.cpp - What is known of the points of a space ------------===//

#include "KnownPlans.h"

#include "CompiledPlan.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Model/CountOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/byte_amount.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::TimedCell;
using Kind = ppopt::schedule::Work;

LogicalResult KnownPlans::readModel() {
  ModuleOp model = compilation.getModule();
  FailureOr<func::FuncOp> entry = findEntry(model);
  if (failed(entry))
    return failure();
  RankedTensorType input = findBatchInput(*entry);
  if (!input)
    return failure();
  rows = space.base.batch.value_or(input.getDimSize(0));
  numOps = static_cast<int64_t>(countUnrolledOps(model));
  return success();
}

void KnownPlans::enumerate() {
  space.forEach(rows, [&](const PlanPoint &point) {
    plans.emplace_back().point = point;
  });
}

void KnownPlans::refuse(KnownPlan &plan, std::string why) {
  plan.refused = std::move(why);
  ++refused;
}

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

ProfileKey KnownPlans::getKey(const PlanPoint &point, Known known) const {
  ProfileKey key;
  key.isWhole = known < Known::Rows;
  key.rows = key.isWhole ? rows : getRows(point);
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
    if (space.base.cluster && point.pp > 1)
      key.between = getLinks(point).getLevelOfPlaces().transfer;
  } else if (splitsBackward(point)) {
    of.schedule = "zb-h1";
  }
  return key;
}

/// Returns the profile that tells what crosses from a place to the next.
ProfileKey KnownPlans::getBoundaryKey(const PlanPoint &point) const {
  ProfileKey key = getKey(point, Known::Rows);
  key.point.pp = 2;
  key.isSketch = true;
  return key;
}

int64_t KnownPlans::countSimulations() const {
  size_t count = 0;
  for (const auto *known : {&profiles, &sketches})
    for (const auto &[key, profile] : *known)
      count += profile.countSimulations();
  return static_cast<int64_t>(count);
}

const Profile &KnownPlans::getProfile(const ProfileKey &key) {
  if (!profiles.count(key))
    makeProfiles(key);
  return profiles[key];
}

void KnownPlans::makeProfiles(ArrayRef<ProfileKey> keys) {
  std::vector<Workers::Job> jobs;
  auto add = [&](const ProfileKey &key, Layers layers, Profile &into) {
    jobs.push_back([this, &key, layers, &into](ModelCopies &copies) {
      into = compileProfile(copies, space, key, layers);
    });
  };
  std::deque<std::pair<Profile, Profile *>> layered; // of two, and of three
  for (const ProfileKey &key : keys) {
    auto [found, isNew] = profiles.try_emplace(key);
    if (!isNew)
      continue;
    Profile &profile = found->second;
    if (!workers.haveLayers() || (key.point.pp > 1 && !key.isSketch)) {
      add(key, Layers::All, profile);
      ++wholeCompiled;
      continue;
    }
    add(key, Layers::Three, profile);
    if (!key.isSketch)
      add(key, Layers::Two, layered.emplace_back(Profile(), &profile).first);
  }
  workers.run(jobs);
  for (auto &[two, three] : layered)
    *three = extrapolate(two, std::move(*three), workers.getDepth());
}

const Profile &KnownPlans::getProfile(const PlanPoint &point, Known known) {
  ProfileKey key = getKey(point, known);
  if (key.isWhole && !getProfile(key).refused.empty())
    key.rows = 1;
  return getProfile(key);
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

std::vector<std::optional<ShardingTree>>
KnownPlans::findShardings(ArrayRef<PlanPoint> points) {
  std::vector<NamedShape> params;
  if (auto model = compilation.tryPlan(space.base, Phase::Model))
    model->walk([&](ParamOp param) {
      params.push_back(
          {param.getParamName().str(), llvm::to_vector(pp::getShape(param))});
    });
  std::vector<std::optional<ShardingTree>> trees(points.size());
  std::vector<Workers::Job> jobs;
  for (auto [point, tree] : llvm::zip(points, trees))
    jobs.push_back([&, &point = point, &tree = tree](ModelCopies &copies) {
      PlanOptions plan = space.getPlan(PlanPoint());
      plan.batch = getRows(point);
      Compilation &model = copies.two ? *copies.two : *copies.whole;
      if (auto trained = model.tryPlan(plan, Phase::Train))
        tree = pp::findShardings(*trained, point.tp, params);
    });
  workers.run(jobs);
  return trees;
}

//===----------------------------------------------------------------------===//
// Bounds and estimates
//===----------------------------------------------------------------------===//

const Links &KnownPlans::getLinks(const PlanPoint &point) const {
  std::array key = {point.pp, point.dp, point.fsdp, point.tp,
                    point.batchAxesOutside};
  auto found = links.find(key);
  if (found == links.end())
    found = links
                .emplace(key, Links(space.base.cluster, space.base.device,
                                    point.getMesh()))
                .first;
  return found->second;
}

PlanBound KnownPlans::bound(const PlanPoint &point, Known known,
                            const Profile &profile) const {
  return known == Known::Stages
             ? boundByStages(point, profile, getLinks(point))
             : boundByWork(point, profile, getRows(point),
                           known == Known::Work ? point.tp : 1,
                           getLinks(point));
}

void KnownPlans::tighten(KnownPlan &plan, Known known) {
  plan.known = known;
  const Profile &profile = getProfile(plan.point, known);
  if (!profile.refused.empty())
    return refuse(plan, profile.refused);
  PlanBound of = bound(plan.point, known, profile);
  if (!fits(of.memory))
    return refuse(plan, "a rank takes at least " +
                            ::ppopt::spellByteAmount(of.memory));
  if (!fits(of.memoryAsCut)) {
    // Within the limit it is cut otherwise, if at all.
    plan.looksBad = true;
    return;
  }
  plan.bound = std::max(plan.bound, of.step);
}

/// Returns nothing if the plan looks bad.
std::optional<PlanBound> KnownPlans::estimate(const PlanPoint &point) {
  const Profile &profile = getProfile(point, Known::Rows);
  constexpr int64_t leastOps = 4; // of a stage, or it is far from its share
  if (point.pp * point.chunks * leastOps > numOps)
    return std::nullopt;
  auto [sketch, isNew] = sketches.try_emplace(getKey(point, Known::Stages));
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
  if (!fits(estimated.memory))
    return std::nullopt;
  return estimated;
}

std::optional<PlanBound>
KnownPlans::estimateOnOnePlace(const PlanPoint &point) {
  const Profile &profile = getProfile(point, Known::Rows);
  if (!profile.refused.empty())
    return std::nullopt;
  const Links &links = getLinks(point);
  return estimateByStages(point, sketchStages(point, profile, 0, links), links);
}

std::vector<std::optional<PlanBound>>
KnownPlans::estimate(ArrayRef<size_t> points) {
  SmallVector<ProfileKey> boundaries;
  for (size_t point : points)
    if (plans[point].point.pp > 1)
      boundaries.push_back(getBoundaryKey(plans[point].point));
  makeProfiles(boundaries);
  std::vector<std::optional<PlanBound>> estimates;
  for (size_t point : points) {
    estimates.push_back(estimate(plans[point].point));
    plans[point].looksBad = !estimates.back();
  }
  return estimates;
}

//===----------------------------------------------------------------------===//
// Compilations
//===----------------------------------------------------------------------===//

/// Sums up where the time of the place that computes longest goes.
static PlanFigures summarize(const PlanReport &report) {
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
    memory = std::max(memory, place.getBytes());
    sent = std::max(sent, place.bytesSent);
    if (of.computing > most.computing || most.step == 0)
      most = of;
  }
  most.memory = memory;
  most.sent = sent;
  return most;
}

std::vector<TriedPlan> KnownPlans::tryPlans(ArrayRef<PlanOptions> options,
                                            Checks checks) {
  std::vector<TriedPlan> tried(options.size());
  std::vector<Workers::Job> jobs;
  for (auto [plan, into] : llvm::zip(options, tried))
    jobs.push_back([&plan = plan, &into = into, checks](ModelCopies &copies) {
      auto done =
          compilePlan(*copies.whole, plan, into.refused, nullptr, checks);
      if (done && succeeded(addBytesSent(*done->module, done->report)))
        into.figures = summarize(done->report);
    });
  workers.run(jobs);
  wholeCompiled += static_cast<int64_t>(options.size());
  return tried;
}

void KnownPlans::compile(ArrayRef<KnownPlan *> chosen) {
  std::vector<PlanOptions> options;
  for (const KnownPlan *plan : chosen)
    options.push_back(space.getPlan(plan->point));
  std::vector<TriedPlan> tried = tryPlans(options);
  for (auto [plan, made] : llvm::zip(chosen, tried)) {
    plan->known = Known::Step;
    plan->figures = made.figures;
    if (made.figures)
      plan->bound = made.figures->step;
    else
      refuse(*plan, made.refused);
  }
  compiled += static_cast<int64_t>(chosen.size());
}
