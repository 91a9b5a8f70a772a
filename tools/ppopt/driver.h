//===- driver.h - ppopt as a function -------------------------------------===//

#ifndef PPOPT_TOOLS_DRIVER_H
#define PPOPT_TOOLS_DRIVER_H

#include "ppopt/Driver/Compile.h"

#include <string>

namespace ppopt {

/// Settings for other tools that use this driver. ppopt itself uses none.
struct DriverSetup {
  /// The folder with lib/libppopt_runtime.a; empty: the parent of the tool's
  /// folder.
  std::string prefix;
  /// Adds passes to the phases of `compile` and `plan`; empty: none. `opt` can
  /// run every registered pass.
  mlir::pp::PhaseExtension extend;
};

/// The body of main. Returns the exit status.
int runDriver(int argc, char **argv, const DriverSetup &setup = {});

} // namespace ppopt

#endif // PPOPT_TOOLS_DRIVER_H
