//===- NativeCode.h - From the LLVM dialect to an object file ----*- C++
//-*-===//

#ifndef PPOPT_TARGET_NATIVECODE_H
#define PPOPT_TARGET_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::pp {

/// Appends upstream's conversions from scf, memref, math and arith to the LLVM
/// dialect; f32 math becomes polynomials that vectorise.
void buildLowerToLLVMPipeline(OpPassManager &manager);

/// LLVM's name of this machine's CPU and its features ("+avx2,-avx512f,…").
struct HostCpu {
  std::string name, features;
};
HostCpu getHostCpu();

/// Optimises a module of the LLVM dialect for `cpu` and writes an object file.
/// `cpu` and `features` are as LLVM names them; an unknown CPU is an error.
LogicalResult writeObject(ModuleOp module, StringRef cpu, StringRef features,
                          StringRef path);

} // namespace mlir::pp

#endif // PPOPT_TARGET_NATIVECODE_H
