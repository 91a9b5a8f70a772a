//===- driver.h - ppopt as a function -------------------------------------===//

#ifndef PPOPT_TOOLS_DRIVER_H
#define PPOPT_TOOLS_DRIVER_H

#include "ppopt/Driver/Compile.h"

#include <string>

namespace ppopt {

/// What a tool around this driver changes. ppopt itself changes nothing.
struct DriverSetup {
  /// The folder with lib/libppopt_runtime.a; empty: the parent of the folder
  /// that the tool is in.
  std::string prefix;
  /// Adds passes to the phases of `compile` and `plan`; empty: none. `opt` runs
  /// every pass that is registered.
  mlir::pp::PhaseExtension extend;
};

/// What main does. Returns the exit status.
int runDriver(int argc, char **argv, const DriverSetup &setup = {});

} // namespace ppopt

#endif // PPOPT_TOOLS_DRIVER_H
