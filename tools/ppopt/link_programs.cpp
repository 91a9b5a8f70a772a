//===- link_programs.cpp - Makes an executable of compiled programs -------===//

#include "link_programs.h"

#include "ppopt/Codegen/NativeCode.h"
#include "ppopt/Driver/Compile.h"

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
  SmallVector<std::string> paths;
  for (auto [part, stem, prefix] :
       {std::make_tuple(training, "training", ""),
        std::make_tuple(generation, "generation", "generation.")}) {
    auto written = mlir::pp::writeObjects(
        part, plan.target.cpu, plan.target.features, folder.path(stem), prefix);
    if (failed(written))
      return failure();
    paths.append(*written);
  }
  return mlir::pp::linkExecutable(paths, getPrefix(setup), executable);
}
