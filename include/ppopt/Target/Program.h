//===- Program.h - The JSON document of an executable ------------*- C++
//-*-===//

#ifndef PPOPT_TARGET_PROGRAM_H
#define PPOPT_TARGET_PROGRAM_H

#include "ppopt/Target/Compile.h"

#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// The document that docs/program.md describes, for a module of phase kernels.
FailureOr<llvm::json::Object> buildProgram(ModuleOp module,
                                           const PlanOptions &options);

/// Makes functions of the tasks of a module whose kernels are functions, and
/// puts the program's JSON and tables into it.
std::unique_ptr<Pass> createEmitTasksPass(const PlanOptions &options);
void registerEmitTasksPass();

} // namespace mlir::pp

#endif // PPOPT_TARGET_PROGRAM_H
