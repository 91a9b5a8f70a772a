//===- OptimiseModule.h - LLVM's optimisations for a machine --------------===//

#ifndef PPOPT_CODEGEN_OPTIMISEMODULE_H
#define PPOPT_CODEGEN_OPTIMISEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::pp {

/// Runs the passes of -O3, with vectorisation.
void optimiseModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_OPTIMISEMODULE_H
