//===- CompiledPlan.cpp - A plan's module and report ----------------------===//

#include "CompiledPlan.h"

using namespace mlir;
using namespace mlir::pp;

std::optional<CompiledPlan> pp::compilePlan(Compilation &compilation,
                                            const PlanOptions &plan,
                                            std::string &refused,
                                            OnPlaced onPlaced, Checks checks) {
  CompiledPlan compiled;
  auto report = [&](Phase phase, ModuleOp module) -> LogicalResult {
    if (phase == Phase::Placed && onPlaced)
      onPlaced(module);
    if (phase == Phase::Scheduled) {
      FailureOr<PlanReport> made = reportSchedule(module, /*predicts=*/false);
      if (failed(made))
        return failure();
      compiled.report = std::move(*made);
    }
    return success(phase != Phase::Kernels ||
                   succeeded(addMemory(module, compiled.report)));
  };
  compiled.module =
      compilation.tryPlan(plan, Phase::Kernels, &refused, report, checks);
  if (compiled.module)
    return compiled;
  if (refused.empty())
    refused = "it does not compile";
  return std::nullopt;
}
