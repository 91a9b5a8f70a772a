//===- Passes.h - Passes that build the program ---------------------------===//

#ifndef PPOPT_PROGRAM_PASSES_H
#define PPOPT_PROGRAM_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Program/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Program/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PASSES_H
