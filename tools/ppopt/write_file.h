//===- write_file.h - Writes a command's output ---------------------------===//

#ifndef PPOPT_TOOLS_WRITE_FILE_H
#define PPOPT_TOOLS_WRITE_FILE_H

#include "command_line.h"

#include "mlir/Support/LLVM.h"
#include <string>

namespace ppopt {

/// Writes the whole file, or standard output if `path` is "-". On an error,
/// prints one line for the command and leaves the file unchanged.
mlir::LogicalResult writeFile(const Command &command, llvm::StringRef path,
                              llvm::StringRef text);

} // namespace ppopt

#endif // PPOPT_TOOLS_WRITE_FILE_H
