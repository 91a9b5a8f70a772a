//===- NativeCode.h - From the LLVM dialect to object files ---------------===//

#ifndef PPOPT_CODEGEN_NATIVECODE_H
#define PPOPT_CODEGEN_NATIVECODE_H

#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Sets cpu and features to those of this machine, as LLVM names them
/// ("+avx2,-avx512f,…").
void setHostCpu(Machine &machine);

/// Returns the names of the CPUs of this machine's architecture.
SmallVector<StringRef> listCpus();

/// Returns the bytes of a CPU's vector registers: 16, 32 or 64.
int64_t getVectorBytes(StringRef cpu, StringRef features);

/// Returns whether a CPU multiplies bf16 matrices faster than f32 matrices.
bool hasFastBF16(StringRef cpu, StringRef features);

/// Optimises programs of the LLVM dialect for the machine's CPU and writes
/// their object files, several at a time; returns their paths. Consumes the
/// modules' definitions. An unknown CPU is an error.
FailureOr<SmallVector<std::string>>
writeObjects(ArrayRef<NativeProgram> programs, const Machine &machine);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_NATIVECODE_H
