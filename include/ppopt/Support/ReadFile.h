//===- ReadFile.h - Reads files that a user names -------------------------===//

#ifndef PPOPT_SUPPORT_READFILE_H
#define PPOPT_SUPPORT_READFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

namespace ppopt {

/// Reads a file or a pipe; "-" is the standard input. A device is rejected:
/// reading one may never end.
inline llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readTextFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (path != "-" && !llvm::sys::fs::status(path, status) &&
      (status.type() == llvm::sys::fs::file_type::character_file ||
       status.type() == llvm::sys::fs::file_type::block_file))
    return llvm::createStringError("it is a device, not a file");
  return llvm::errorOrToExpected(
      llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true));
}

} // namespace ppopt

#endif // PPOPT_SUPPORT_READFILE_H
