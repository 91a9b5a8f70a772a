//===- Passes.h - Passes that generate code -------------------------------===//

#ifndef PPOPT_CODEGEN_PASSES_H
#define PPOPT_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Codegen/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_PASSES_H
