//===- driver.h - ppopt as a function -------------------------------------===//

#ifndef PPOPT_TOOLS_DRIVER_H
#define PPOPT_TOOLS_DRIVER_H

#include "ppopt/Driver/Compilation.h"

namespace ppopt {

/// The body of main. Returns the exit status.
int runDriver(int argc, char **argv,
              const mlir::pp::CompilationSetup &setup = {});

} // namespace ppopt

#endif // PPOPT_TOOLS_DRIVER_H
