//===- command_line.h - The flags of an executable ------------------------===//

#ifndef PPOPT_RUNTIME_APP_COMMAND_LINE_H
#define PPOPT_RUNTIME_APP_COMMAND_LINE_H

#include "base/usage_error.h"
#include "options/options.h"
#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns whether the program of the run is the one that predicts.
bool asksToPredict(const std::vector<std::string> &arguments);

/// Parses the command line. Throws UsageError (one line) for a flag that is
/// unknown, out of range, contradictory, or without effect on this program.
Options parseCommandLine(const runtime::Program &program,
                         const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_COMMAND_LINE_H
