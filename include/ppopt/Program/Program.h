//===- Program.h - The JSON document of an executable ---------------------===//

#ifndef PPOPT_PROGRAM_PROGRAM_H
#define PPOPT_PROGRAM_PROGRAM_H

#include "ppopt/Program/PlanOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// The document that docs/program.md describes, for a module of phase kernels.
FailureOr<llvm::json::Object> buildProgram(ModuleOp module,
                                           const PlanOptions &options);

/// The program's JSON document (docs/program.md) that a module of phase native
/// carries; empty if it has none.
StringRef getProgramJson(ModuleOp native);

/// The module of phase native of an executable that cannot generate for this
/// reason.
OwningOpRef<ModuleOp> makeRefusedGeneration(MLIRContext *context,
                                            StringRef reason);

/// Makes functions of the tasks of a module whose kernels are functions, and
/// puts the program's JSON and tables into it.
std::unique_ptr<Pass> createEmitTasksPass(const PlanOptions &options);
void registerEmitTasksPass();

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PROGRAM_H
