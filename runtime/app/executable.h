//===- executable.h - A compiled program as a command ---------------------===//

#ifndef PPOPT_RUNTIME_APP_EXECUTABLE_H
#define PPOPT_RUNTIME_APP_EXECUTABLE_H

#include "program/compiled_program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Runs the command and returns its exit status: 0 for success, 1 for an error,
/// 2 for an invalid command line, 3 for a machine without the device. An error
/// is one line on standard error, printed by one rank.
int runExecutable(const CompiledProgram &compiled,
                  const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_EXECUTABLE_H
