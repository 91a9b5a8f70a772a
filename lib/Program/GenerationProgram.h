//===- GenerationProgram.h - The JSON document's part for generation ------===//

#ifndef PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H

#include "ppopt/Program/ArenaLayout.h"

#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// Returns the field "generation" of the document of a generating program: a
/// module of phase kernels whose only place has this layout.
FailureOr<llvm::json::Object> describeGeneration(ModuleOp module,
                                                 const ArenaLayout &layout);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
