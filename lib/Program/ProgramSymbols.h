//===- ProgramSymbols.h - Symbols of an executable for its runtime --------===//

#ifndef PPOPT_LIB_PROGRAM_PROGRAMSYMBOLS_H
#define PPOPT_LIB_PROGRAM_PROGRAMSYMBOLS_H

#include "ppopt/Program/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Appends the table of a program's tasks, which are functions of the module,
/// and its document (runtime.h).
void emitProgramSymbols(ModuleOp module, ProgramKind kind,
                        ArrayRef<StringRef> tasks, StringRef json);

/// Appends the bytes of the module's persistent buffers, if it has any, in the
/// document's order.
void emitBuffers(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_PROGRAMSYMBOLS_H
