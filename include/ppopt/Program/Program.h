//===- Program.h - The program of an executable ---------------------------===//

#ifndef PPOPT_PROGRAM_PROGRAM_H
#define PPOPT_PROGRAM_PROGRAM_H

#include "ppopt/Program/SchemaWords.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// The programs of an executable.
enum class ProgramKind { Training, Generation, Prediction };

/// Returns what the names of a program's symbols for the runtime begin with:
/// "ppopt_generation"; "ppopt" for those of the program that trains.
StringRef getSymbolPrefix(ProgramKind kind);

/// Returns the program (docs/program.md) of a module of phase kernels.
FailureOr<schema::Program> buildProgram(ModuleOp module);

/// Adds the symbols of a program that generates to a module of phase native,
/// whose executable cannot generate for this reason.
void addRefusedGeneration(ModuleOp module, StringRef reason);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PROGRAM_H
