//===- Passes.h - Passes on a model before its ops have places ------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_PASSES_H
#define PPOPT_TRANSFORMS_MODEL_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Model/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Model/Passes.h.inc"

/// Creates the pass insert-plan with all of its options, and the table of a
/// schedule that the user gave.
std::unique_ptr<Pass>
createInsertPlan(InsertPlanOptions options, const PlanChoices &choices,
                 const std::optional<::ppopt::schedule::Table> &table);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_PASSES_H
