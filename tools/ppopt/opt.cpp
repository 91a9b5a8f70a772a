//===- opt.cpp - `ppopt opt`: any pass alone ------------------------------===//

#include "commands.h"

#include "ppopt/Target/Compile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int ppopt::runOpt(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pp::registerCompilerDialects(registry);
  mlir::pp::registerCompilerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "runs ppopt's passes\n", registry));
}
