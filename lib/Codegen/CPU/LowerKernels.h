//===- LowerKernels.h - The conversions of kernels to LLVM ----------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_LOWERKERNELS_H
#define PPOPT_LIB_CODEGEN_CPU_LOWERKERNELS_H

#include "mlir/Pass/PassManager.h"

namespace mlir::pp {

/// Appends upstream's conversions of kernels, most of them several kernels at a
/// time; f32 math becomes polynomials that vectorise. Runs before tasks become
/// functions: they are long and have nothing to convert.
void buildLowerKernelsPipeline(OpPassManager &manager);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_LOWERKERNELS_H
