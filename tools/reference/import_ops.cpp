//===- import_ops.cpp - Prints the reference of imported ops --------------===//

#include "ppopt/Import/Import.h"

#include "llvm/Support/raw_ostream.h"

int main() {
  llvm::outs() << mlir::pp::listImportOps();
  return 0;
}
