//===- NativeParts.h - A native module in parts of its own ----------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H
#define PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// A module of which an object file is made, whatever becomes of the others.
struct NativePart {
  OwningOpRef<ModuleOp> module;
  /// Functions that optimize_none stands on, and all that is no function.
  bool isUnoptimized = false;
};

/// Divides a module of the LLVM dialect, whose definitions move to the parts.
/// What a part refers to and does not hold is declared in it. Depends on the
/// module only, not on the machine: equal modules make equal executables.
SmallVector<NativePart> divideIntoParts(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H
