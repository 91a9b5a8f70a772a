//===- Ptxas.h - NVIDIA's assembler ---------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_PTXAS_H
#define PPOPT_LIB_CODEGEN_CUDA_PTXAS_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

namespace mlir::pp {

/// Returns the path of ptxas: $PPOPT_PTXAS, or the oldest that knows the
/// architecture of those on $PATH, of toolkits, and of wheels in $VIRTUAL_ENV.
/// Empty if there is none, or PPOPT_PTXAS is none.
std::string findPtxas(StringRef gpu);

/// Returns a line of text: what device code an executable for this GPU has.
std::string describeDeviceCode(StringRef gpu);

/// Assembles PTX, writing files that begin with `stem`. `log`: what ptxas says
/// of registers and spills.
FailureOr<std::string> assemble(Location loc, StringRef ptxas, StringRef ptx,
                                StringRef gpu, StringRef stem,
                                std::string &log);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_PTXAS_H
