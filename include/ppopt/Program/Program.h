//===- Program.h - The JSON document of an executable ---------------------===//

#ifndef PPOPT_PROGRAM_PROGRAM_H
#define PPOPT_PROGRAM_PROGRAM_H

#include "ppopt/Program/PlanOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// Returns the document that docs/program.md describes, for a module of phase
/// kernels.
FailureOr<llvm::json::Object> buildProgram(ModuleOp module,
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
