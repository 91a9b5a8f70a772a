//===- write_file.h - What commands write to files ------------------------===//

#ifndef PPOPT_TOOLS_WRITE_FILE_H
#define PPOPT_TOOLS_WRITE_FILE_H

#include "flags.h"

#include "mlir/Support/LLVM.h"
#include <string>

namespace ppopt {

/// Writes the whole file, or standard output where `path` is "-". An error is
/// one line of the command's, and leaves the file as it was.
mlir::LogicalResult writeFile(const Command &command, llvm::StringRef path,
                              llvm::StringRef text);

/// The same of a file, with a mode as for open(2). Returns why it failed, with
/// the path; empty where it did not.
std::string writeWhole(llvm::StringRef path, llvm::StringRef text,
                       unsigned mode = 0666);

} // namespace ppopt

#endif // PPOPT_TOOLS_WRITE_FILE_H
