//===- NativeCode.h - From the LLVM dialect to object files ---------------===//

#ifndef PPOPT_CODEGEN_NATIVECODE_H
#define PPOPT_CODEGEN_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::pp {

/// Appends upstream's conversions that work within a function, several kernels
/// at a time; f32 math becomes polynomials that vectorise. Before tasks are
/// functions too: they have nothing to convert, and are long.
void buildLowerKernelsPipeline(OpPassManager &manager);

/// Appends those that work on a module: then all of it is in the LLVM dialect.
void buildLowerToLLVMPipeline(OpPassManager &manager);

/// LLVM's name of this machine's CPU and its features ("+avx2,-avx512f,…").
struct HostCpu {
  std::string name, features;
};
HostCpu getHostCpu();

/// Bytes of the vector registers that a CPU has: 16, 32 or 64.
int64_t getVectorBytes(StringRef cpu, StringRef features);

/// Optimises a module of the LLVM dialect for `cpu` and writes object files
/// whose names begin with `stem`; returns their paths. The module's definitions
/// are gone afterwards. `cpu` and `features` are as LLVM names them; an unknown
/// CPU is an error. The names of the module's functions get `prefix` in front,
/// so that objects of several modules can be linked.
FailureOr<SmallVector<std::string>> writeObjects(ModuleOp module, StringRef cpu,
                                                 StringRef features,
                                                 StringRef stem,
                                                 StringRef prefix);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_NATIVECODE_H
