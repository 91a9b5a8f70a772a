//===- ChooseSchedule.cpp - --schedule auto -------------------------------===//

#include "ChoosePlan.h"

#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Candidate;

/// One schedule per way to split the model into stages; other schedules use the
/// same stages. It splits backwards, so the times of both parts are known.
static constexpr StringRef ways[] = {"zb-h1", "interleaved", "zb-v"};

/// Returns the schedules that can use the stages of `plan`; none if the plan
/// does not compile up to phase partitioned.
static std::vector<Candidate> simulatePlan(Compilation &compilation,
                                           const PlanOptions &plan) {
  auto module = compilation.tryPlan(plan, Phase::Partitioned);
  if (!module)
    return {};
  auto made = findPlan(*module);
  if (failed(made))
    return {};
  TaskTimes times(*module);
  ppopt::schedule::StageGraph graph = makeStageGraph(*module, *made, times);
  return ppopt::schedule::simulateAll(graph,
                                      static_cast<int>(plan.microbatches),
                                      getEdgeLinks(times.getLinks(), graph));
}

/// Returns the first candidate that fits. `candidates` is sorted, fastest
/// first.
static std::string findFitting(Compilation &compilation,
                               const PlanOptions &plan,
                               ArrayRef<Candidate> candidates) {
  for (const Candidate &candidate : candidates) {
    PlanOptions with = plan;
    if (!setSchedule(with, candidate.name).empty())
      continue;
    if (!plan.deviceMemory || compilation.tryPlan(with, Phase::Kernels))
      return candidate.name;
  }
  // Nothing fits. Compiling reports why, for the schedule that needs least.
  return "1f1b";
}

void pp::chooseSchedule(Compilation &compilation, PlanOptions &plan,
                        raw_ostream &notes) {
  if (plan.schedule != "auto")
    return;
  std::vector<Candidate> candidates;
  if (plan.mesh.places() > 1)
    for (StringRef way : ways) {
      PlanOptions with = plan;
      if (!setSchedule(with, way).empty())
        continue;
      for (Candidate &candidate : simulatePlan(compilation, with))
        if (llvm::none_of(candidates, [&](const Candidate &known) {
              return known.name == candidate.name;
            }))
          candidates.push_back(std::move(candidate));
    }
  llvm::sort(candidates, ppopt::schedule::isBetter);
  std::string name = findFitting(compilation, plan, candidates);
  setSchedule(plan, name);
  notes << plan.source << ": note: --schedule auto takes " << name;
  for (auto [i, candidate] : llvm::enumerate(candidates))
    notes << (i ? ", " : "; predicted, in ms: ") << candidate.name << " "
          << llvm::formatv("{0:f3}", candidate.time / 1e6);
  notes << "\n";
}
