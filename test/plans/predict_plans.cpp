//===- predict_plans.cpp - Many plans of a model, in one process ----------===//
//
//   ppopt-predict-plans MODEL FLAG... [--verified] < PLANS
//     Predicts plans as a search does, with all verifiers as `ppopt plan` does.
//     Each line of PLANS has flags beside those given, separated by tabs.
//   ppopt-predict-plans MODEL --plan auto --ranks N FLAG... [--points]
//     The choice of --plan auto, or every point of its space with the bounds
//     that the search would take for it. There is no limit on their memory.
//
// Prints a line of JSON for each plan. Times are in nanoseconds.
//
//===----------------------------------------------------------------------===//

#include "ShardingChoice.h"
#include "plan_flags.h"

#include "ppopt/Search/ChooseShardings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/thread.h"

#include <iostream>
#include <map>

using namespace llvm;
using namespace mlir::pp;
using ppopt::Command;
using ppopt::CommandLine;
using ppopt::PlanFlags;

static const Command command = {"predict-plans", "", "MODEL", "", nullptr};

namespace {
/// The flags of this tool.
struct Toggles {
  explicit Toggles(CommandLine &line) {
    line.toggle("points", points, "all points of the space, with their bounds");
    line.toggle("verified", verified, "with the verifiers of all phases");
  }

  bool points = false, verified = false;
};
} // namespace

static void print(json::Object object) {
  outs() << json::Value(std::move(object)) << "\n";
}

static json::Object describe(const TriedPlan &plan) {
  if (!plan.figures)
    return json::Object{{"refused", plan.refused}};
  return json::Object{{"step", plan.figures->step},
                      {"memory", plan.figures->memory}};
}

/// Replaces --shard auto by what is chosen for the first plan with the same tp:
/// for each plan alone, it would take longer than to predict it.
static bool setShard(PlanOptions &plan) {
  static std::map<int64_t, std::optional<std::string>> known;
  if (plan.shard != "auto")
    return true;
  auto [found, isNew] = known.try_emplace(plan.mesh.size("tp"));
  if (isNew) {
    Compilation compilation(plan);
    if (mlir::succeeded(compilation.parse()))
      if (auto chosen = chooseShard(compilation); mlir::succeeded(chosen))
        found->second = *chosen;
  }
  plan.shard = found->second.value_or("");
  return found->second.has_value();
}

/// Predicts the plans of standard input, whose flags are added to `words`. All
/// are of as many ranks: rates depend on how many share a machine.
static int predictPlans(ArrayRef<const char *> words, Checks checks) {
  std::vector<PlanOptions> plans;
  std::vector<bool> isValid;
  for (std::string flags; std::getline(std::cin, flags);) {
    BumpPtrAllocator allocator;
    StringSaver saver(allocator);
    std::vector<const char *> added(words.begin(), words.end());
    for (StringRef word : split(flags, '\t'))
      added.push_back(saver.save(word).data());
    CommandLine line(command, added);
    Toggles toggles(line);
    PlanFlags planned(line);
    isValid.push_back(!line.parse() && !planned.complete() &&
                      setShard(planned.plan));
    if (isValid.back())
      plans.push_back(planned.plan);
  }
  std::vector<TriedPlan> tried;
  if (!plans.empty()) {
    Compilation compilation(plans.front());
    if (failed(compilation.parse()))
      return 1;
    PlanSpace unused;
    tried = KnownPlans(compilation, unused).tryPlans(plans, checks);
  }
  auto next = tried.begin();
  for (bool valid : isValid) {
    TriedPlan plan{std::nullopt, "the flags contradict each other, or --shard "
                                 "auto finds nothing"};
    if (valid)
      plan = *next++;
    print(describe(plan));
  }
  return 0;
}

static int printChoice(Compilation &compilation, const PlanSpace &space) {
  mlir::FailureOr<PlanSearchResult> found = searchPlans(compilation, space);
  if (failed(found))
    return 1;
  json::Object choice{{"points", found->points},
                      {"compiled", found->compiled},
                      {"profiles", found->profiles},
                      {"sketches", found->sketches},
                      {"simulations", found->simulations}};
  if (!found->best.empty()) {
    choice["flags"] = found->best.front().point.spell();
    choice["step"] = found->best.front().figures->step;
    choice["memory"] = found->best.front().figures->memory;
    choice["gap"] = found->gap;
  }
  print(std::move(choice));
  return 0;
}

static int printPoints(Compilation &compilation, const PlanSpace &given) {
  PlanSpace space = fitToModel(given, compilation.getModule());
  space.base.deviceMemory.reset();
  KnownPlans plans(compilation, space);
  if (failed(plans.readModel()))
    return 1;
  if (space.choosesShards)
    chooseShards(plans, space);
  plans.enumerate();
  static constexpr std::pair<StringRef, Known> steps[] = {
      {"work", Known::Work},
      {"cut", Known::Cut},
      {"rows", Known::Rows},
      {"stages", Known::Stages}};
  std::vector<KnownPlan *> all;
  std::vector<ProfileKey> keys;
  for (KnownPlan &plan : plans) {
    all.push_back(&plan);
    for (auto [name, known] : steps)
      keys.push_back(plans.getKey(plan.point, known));
  }
  plans.makeProfiles(keys);
  plans.compile(all);
  for (KnownPlan &plan : plans) {
    json::Object bounds;
    for (auto [name, known] : steps) {
      const Profile &profile = plans.getProfile(plan.point, known);
      if (!profile.refused.empty()) {
        bounds[name] = json::Object{{"refused", profile.refused}};
        continue;
      }
      PlanBound bound = plans.bound(plan.point, known, profile);
      bounds[name] =
          json::Object{{"step", bound.step}, {"memory", bound.memory}};
    }
    json::Object point = describe({plan.figures, plan.refused});
    point["flags"] = plan.point.spell();
    point["bounds"] = std::move(bounds);
    print(std::move(point));
  }
  return 0;
}

static int run(ArrayRef<const char *> words) {
  CommandLine line(command, words);
  Toggles toggles(line);
  PlanFlags planned(line);
  if (std::optional<int> status = line.parse())
    return *status;
  if (std::optional<int> status = planned.complete())
    return *status;
  if (!planned.space)
    return predictPlans(words,
                        toggles.verified ? Checks::All : Checks::WithoutProofs);
  Compilation compilation(planned.plan);
  if (failed(compilation.parse()))
    return 1;
  return toggles.points ? printPoints(compilation, *planned.space)
                        : printChoice(compilation, *planned.space);
}

int main(int argc, char **argv) {
  int status = 0;
  llvm::thread(std::optional<unsigned>(kStackBytes), [&] {
    status = run(ArrayRef<const char *>(argv + 1, argc - 1));
  }).join();
  return status;
}
