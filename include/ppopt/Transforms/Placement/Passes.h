//===- Passes.h - Passes that give ops their places -----------------------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_PASSES_H
#define PPOPT_TRANSFORMS_PLACEMENT_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Placement/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Placement/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_PASSES_H
