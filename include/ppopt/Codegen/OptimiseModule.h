//===- OptimiseModule.h - LLVM's optimisations for a machine --------------===//

#ifndef PPOPT_CODEGEN_OPTIMISEMODULE_H
#define PPOPT_CODEGEN_OPTIMISEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::pp {

/// Runs a pipeline in the syntax of LLVM's `opt -passes`, with vectorisation.
void optimiseModule(llvm::Module &module, llvm::TargetMachine &machine,
                    llvm::StringRef pipeline);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_OPTIMISEMODULE_H
