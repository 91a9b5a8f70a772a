//===- Passes.h - Passes to phase native -------------------------*- C++
//-*-===//

#ifndef PPOPT_TARGET_PASSES_H
#define PPOPT_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Target/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_TARGET_PASSES_H
