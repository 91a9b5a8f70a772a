//===- main.cpp - The driver's entry: finds the subcommand
//-----------------===//

#include "ppopt/Config.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (argc == 2 && llvm::StringRef(argv[1]) == "--version") {
    llvm::outs() << "ppopt " PPOPT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
    return 0;
  }
  llvm::errs() << "usage: ppopt --version\n";
  return 1;
}
