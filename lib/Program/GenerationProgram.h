//===- GenerationProgram.h - What generation needs to know ----------------===//

#ifndef PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H

#include "ppopt/Program/ArenaLayout.h"

#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// The field "generation" of the document of a program that generates, a module
/// of phase kernels whose only place has this layout.
FailureOr<llvm::json::Object> describeGeneration(ModuleOp module,
                                                 const ArenaLayout &layout);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
