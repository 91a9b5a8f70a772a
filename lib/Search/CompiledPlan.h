//===- CompiledPlan.h - A plan's module and report ------------------------===//

#ifndef PPOPT_LIB_SEARCH_COMPILEDPLAN_H
#define PPOPT_LIB_SEARCH_COMPILEDPLAN_H

#include "ppopt/Driver/Compilation.h"
#include "ppopt/Driver/PlanReport.h"

#include <optional>

namespace mlir::pp {

using OnPlaced = llvm::function_ref<void(ModuleOp)>;

struct CompiledPlan {
  OwningOpRef<ModuleOp> module; ///< in phase kernels
  PlanReport report;
};

/// Compiles a copy of the parsed module up to phase kernels. If it can't be
/// compiled, returns nothing and sets `refused` to one line. Calls `onPlaced`
/// with it in phase placed.
std::optional<CompiledPlan> compilePlan(Compilation &compilation,
                                        const PlanOptions &plan,
                                        std::string &refused,
                                        OnPlaced onPlaced = nullptr,
                                        Checks checks = Checks::WithoutProofs);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_COMPILEDPLAN_H
