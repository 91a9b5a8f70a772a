//===- GenerationProgram.h - The program's part for generation ------------===//

#ifndef PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
#define PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H

#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/SchemaWords.h"

namespace mlir::pp {

/// Returns the additional part of a program that generates: a module of phase
/// kernels whose only place has this layout.
FailureOr<schema::Generation> describeGeneration(ModuleOp module,
                                                 const ArenaLayout &layout);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_GENERATIONPROGRAM_H
