//===- Program.h - The program of an executable ---------------------------===//

#ifndef PPOPT_PROGRAM_PROGRAM_H
#define PPOPT_PROGRAM_PROGRAM_H

#include "ppopt/Program/PlanOptions.h"
#include "ppopt/Program/SchemaWords.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"

namespace mlir::pp {

/// Returns the program (docs/program.md) of a module of phase kernels.
FailureOr<schema::Program> buildProgram(ModuleOp module,
                                        const PlanOptions &options);

/// Returns the program's JSON document (docs/program.md) in a module of phase
/// native; empty if it has none.
StringRef getProgramJson(ModuleOp native);

/// Returns the module of phase native for an executable that cannot generate
/// for this reason.
OwningOpRef<ModuleOp> makeRefusedGeneration(MLIRContext *context,
                                            StringRef reason);

/// Creates the pass that turns the tasks of a module into functions and adds
/// the program's JSON and tables. The module's kernels are functions already.
std::unique_ptr<Pass> createEmitTasksPass(const PlanOptions &options);
void registerEmitTasksPass();

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PROGRAM_H
