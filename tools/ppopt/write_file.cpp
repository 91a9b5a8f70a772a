//===- write_file.cpp - Writes a command's output -------------------------===//

#include "write_file.h"

#include "files/whole_file.h"

#include "llvm/ADT/Twine.h"

using namespace ppopt;

std::string ppopt::writeWhole(llvm::StringRef path, llvm::StringRef text,
                              unsigned mode) {
  WholeFile file;
  std::string error = file.open(path.str(), mode);
  if (error.empty())
    error = file.write(text.data(), text.size());
  if (error.empty())
    error = file.commit(/*isDurable=*/false);
  return error.empty() ? "" : (path + ": " + error).str();
}

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
