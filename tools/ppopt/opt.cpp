//===- opt.cpp - `ppopt opt`: any pass alone ------------------------------===//

#include "commands.h"
#include "paths.h"

#include "ppopt/Target/Compile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int ppopt::runOpt(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pp::registerCompilerDialects(registry);
  mlir::pp::registerCompilerPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "runs ppopt's passes\n", registry);
  if (std::string conflict = findPathConflict(input, output);
      !conflict.empty()) {
    llvm::errs() << "ppopt opt: error: " << conflict << "\n";
    return 1;
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
