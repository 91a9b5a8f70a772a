//===- write_file.cpp - Writes a command's output -------------------------===//

#include "write_file.h"

#include "ppopt/Support/WriteFile.h"

#include "llvm/ADT/Twine.h"

using namespace ppopt;

mlir::LogicalResult ppopt::writeFile(const Command &command,
                                     llvm::StringRef path,
                                     llvm::StringRef text) {
  if (path == "-") {
    llvm::outs() << text;
    return mlir::success();
  }
  std::string error = writeWhole(path, text);
  return mlir::success(error.empty() || fail(command, error) == 0);
}
