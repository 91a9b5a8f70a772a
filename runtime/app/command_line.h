//===- command_line.h - The flags of an executable ------------------------===//

#ifndef PPOPT_RUNTIME_APP_COMMAND_LINE_H
#define PPOPT_RUNTIME_APP_COMMAND_LINE_H

#include "base/usage_error.h"
#include "options/options.h"
#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Throws UsageError with one line for anything that is not understood, out of
/// range, contradictory, or without effect on this program.
Options parseCommandLine(const runtime::Program &program,
                         const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_COMMAND_LINE_H
