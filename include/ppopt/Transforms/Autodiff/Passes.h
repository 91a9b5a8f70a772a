//===- Passes.h - Passes that add the backward ----------------------------===//

#ifndef PPOPT_TRANSFORMS_AUTODIFF_PASSES_H
#define PPOPT_TRANSFORMS_AUTODIFF_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Autodiff/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_AUTODIFF_PASSES_H
