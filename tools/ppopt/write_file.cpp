//===- write_file.cpp - What commands write to files ----------------------===//

#include "write_file.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace ppopt;

mlir::LogicalResult ppopt::writeFile(const Command &command,
                                     llvm::StringRef path,
                                     llvm::StringRef text) {
  std::string message;
  auto file = mlir::openOutputFile(path, &message);
  if (!file) {
    fail(command, message);
    return mlir::failure();
  }
  file->os() << text;
  file->keep();
  return mlir::success();
}
