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

/// Returns what the runtime's device for CPUs needs, which is part of the
/// archive.
ArrayRef<LinkLibrary> getCpuLibraries();

/// Links object files with the runtime in `prefix`/lib, the libraries of a
/// target and those of the runtime to an executable.
LogicalResult linkExecutable(ArrayRef<std::string> objects,
                             ArrayRef<LinkLibrary> libraries, StringRef prefix,
                             StringRef executable);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_LINKEXECUTABLE_H
