//===- DeviceModules.h - Modules of the code of a GPU ---------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_DEVICEMODULES_H
#define PPOPT_LIB_CODEGEN_CUDA_DEVICEMODULES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Returns whether f32 functions of the plan of a module, if it has one, are to
/// be accurate.
bool hasAccurateMath(ModuleOp module);

/// Returns the nested module of kernels whose indices have 64 bits
/// (`@device_wide`) or 32 (`@device`). Adds it if there is none.
ModuleOp getDeviceModule(ModuleOp module, bool isWide);

/// The threads that a multiprocessor shall have of a kernel at a time. Without
/// such a number ptxas spills some registers to have more.
inline constexpr int64_t kResidentThreads = 512;
/// Of one whose threads have many sums in registers.
inline constexpr int64_t kResidentSummers = 256;

/// Adds a kernel to such a module that takes pointers to memory of its own, and
/// sets the builder to its begin.
LLVM::LLVMFuncOp addKernel(OpBuilder &builder, ModuleOp module, Location loc,
                           StringRef name, int64_t threads, int64_t resident,
                           unsigned pointers);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_DEVICEMODULES_H
