//===- DeviceCode.h - From the LLVM dialect to PTX and cubins -------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_DEVICECODE_H
#define PPOPT_LIB_CODEGEN_CUDA_DEVICECODE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// The architecture that every executable has PTX for, which runs on all later
/// ones.
inline constexpr llvm::StringLiteral kOldestGpu = "sm_80";

/// Returns the architectures from kOldestGpu on.
SmallVector<StringRef> listGpus();

/// Returns the nested modules of kernels of a module of phase native.
SmallVector<ModuleOp> findDeviceModules(ModuleOp module);

/// Writes the optimised LLVM IR of these modules, with the functions of libclc
/// that they call, as text: what becomes PTX.
LogicalResult printDeviceIR(ArrayRef<ModuleOp> modules, StringRef gpu,
                            raw_ostream &out);

/// Returns their PTX.
FailureOr<std::string> compileToPTX(ArrayRef<ModuleOp> modules, StringRef gpu);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_DEVICECODE_H
