//===- link_programs.cpp - Makes an executable of compiled programs -------===//

#include "link_programs.h"

#include "ppopt/Codegen/Target.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace ppopt;

/// Returns the folder that contains bin/ppopt and lib/libppopt_runtime.a.
static std::string getPrefix(const DriverSetup &setup) {
  if (!setup.prefix.empty())
    return setup.prefix;
  static int anchor;
  std::string tool = sys::fs::getMainExecutable("ppopt", &anchor);
  return sys::path::parent_path(sys::path::parent_path(tool)).str();
}

LogicalResult
ppopt::linkPrograms(mlir::ModuleOp training, mlir::ModuleOp generation,
                    const mlir::pp::PlanOptions &plan, const DriverSetup &setup,
                    const TemporaryFolder &folder, StringRef executable) {
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan.target.name);
  return target.writeExecutable(
      {{training, folder.path("training"), ""},
       {generation, folder.path("generation"), "generation."}},
      plan.target, getPrefix(setup), executable);
}
