//===- NativeParts.h - Divides a native module into parts -----------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H
#define PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// A module that is compiled to one object file, independent of the others.
struct NativePart {
  OwningOpRef<ModuleOp> module;
  /// Whether it holds functions that are not optimised (those with
  /// optimize_none, with native-parts=0 all) and everything that is not a
  /// function.
  bool isUnoptimized = false;
  size_t work = 0; ///< roughly in proportion to the time of compiling it
};

/// Divides a module of the LLVM dialect, whose definitions move to the parts.
/// Each part declares the symbols that it uses and does not define. The result
/// depends on the module only, not on the machine: equal modules make equal
/// executables.
SmallVector<NativePart> divideIntoParts(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_NATIVEPARTS_H
