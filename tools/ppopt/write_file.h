//===- write_file.h - What commands write to files ---------------*- C++
//-*-===//

#ifndef PPOPT_TOOLS_WRITE_FILE_H
#define PPOPT_TOOLS_WRITE_FILE_H

#include "flags.h"

#include "mlir/Support/LLVM.h"

namespace ppopt {

/// Writes the whole file, or standard output where `path` is "-". An error is
/// one line of the command's.
mlir::LogicalResult writeFile(const Command &command, llvm::StringRef path,
                              llvm::StringRef text);

} // namespace ppopt

#endif // PPOPT_TOOLS_WRITE_FILE_H
