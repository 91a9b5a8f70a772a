//===- auto_recompute.cpp - Chooses --recompute under --device-memory -----===//

#include "auto_recompute.h"

#include "auto_schedule.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Phase;
using mlir::pp::PlanOptions;

/// From the least computation to the least memory.
static constexpr StringRef choices[] = {"cheap", "layer"};

void ppopt::chooseRecompute(Compilation &compilation,
                            const Arguments &arguments, PlanOptions &plan,
                            raw_ostream &notes) {
  if (!plan.deviceMemory || arguments.has("recompute"))
    return;
  std::string refused, reasonBefore;
  for (StringRef choice : choices) {
    plan.recompute = choice.str();
    PlanOptions with = plan;
    chooseSchedule(compilation, with, nulls());
    std::string reason;
    if (compilation.tryPlan(with, Phase::Kernels, &reason)) {
      if (!refused.empty())
        notes << plan.source << ": note: --device-memory takes --recompute "
              << choice << refused << "\n";
      break;
    }
    // An error that does not depend on the choice is not about memory.
    if (reason == reasonBefore) {
      plan.recompute = choices[0].str();
      break;
    }
    reasonBefore = reason;
    refused += ("; with " + choice + ", " + reason).str();
    if (choice == choices[std::size(choices) - 1])
      notes << plan.source << ": note: no --recompute fits" << refused << "\n";
  }
  compilation.setPlan(plan);
}
