//===- Passes.h - Passes of the target cuda -------------------------------===//

#ifndef PPOPT_CODEGEN_CUDA_PASSES_H
#define PPOPT_CODEGEN_CUDA_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Codegen/CUDA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Codegen/CUDA/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_CUDA_PASSES_H
