//===- LinkExecutable.h - Links a program with the runtime ----------------===//

#ifndef PPOPT_CODEGEN_LINKEXECUTABLE_H
#define PPOPT_CODEGEN_LINKEXECUTABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::pp {

/// A library that executables link besides the runtime's archive, and the
/// Debian package that contains it.
struct LinkLibrary {
  StringRef flag, package;
};

/// What a target links of the runtime.
struct LinkTarget {
  /// The function of the archive that makes the target's device.
  StringRef deviceMaker;
  ArrayRef<LinkLibrary> libraries; ///< that it needs
};

/// Links object files with the runtime in `prefix`/lib, the libraries of a
/// target and those of the runtime to an executable.
LogicalResult linkExecutable(ArrayRef<std::string> objects,
                             const LinkTarget &target, StringRef prefix,
                             StringRef executable);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_LINKEXECUTABLE_H
