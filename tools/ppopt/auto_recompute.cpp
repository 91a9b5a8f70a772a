//===- auto_recompute.cpp - Chooses --recompute under --device-memory -----===//

#include "auto_recompute.h"

#include "auto_schedule.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Phase;
using mlir::pp::PlanOptions;
using mlir::pp::Recompute;

/// From the least computation to the least memory.
static constexpr Recompute choices[] = {Recompute::cheap, Recompute::layer};

void ppopt::chooseRecompute(Compilation &compilation,
                            const Arguments &arguments, PlanOptions &plan,
                            raw_ostream &notes) {
  if (!plan.deviceMemory || arguments.has("recompute"))
    return;
  std::string refused, reasonBefore;
  for (Recompute choice : choices) {
    StringRef word = schema::spell(choice);
    plan.recompute = choice;
    PlanOptions with = plan;
    chooseSchedule(compilation, with, nulls());
    std::string reason;
    if (compilation.tryPlan(with, Phase::Kernels, &reason)) {
      if (!refused.empty())
        notes << plan.source << ": note: --device-memory takes --recompute "
              << word << refused << "\n";
      break;
    }
    // An error that does not depend on the choice is not about memory.
    if (reason == reasonBefore) {
      plan.recompute = choices[0];
      break;
    }
    reasonBefore = reason;
    refused += ("; with " + word + ", " + reason).str();
    if (choice == choices[std::size(choices) - 1])
      notes << plan.source << ": note: no --recompute fits" << refused << "\n";
  }
  compilation.setPlan(plan);
}
