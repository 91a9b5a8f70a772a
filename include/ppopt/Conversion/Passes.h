//===- Passes.h - Passes of the phases kernels and native --------*- C++
//-*-===//

#ifndef PPOPT_CONVERSION_PASSES_H
#define PPOPT_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Conversion/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_CONVERSION_PASSES_H
