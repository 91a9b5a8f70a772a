//===- Passes.h - Passes that order actions and prove the order -----------===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_PASSES_H
#define PPOPT_TRANSFORMS_SCHEDULING_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Scheduling/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Scheduling/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SCHEDULING_PASSES_H
