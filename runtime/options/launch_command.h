//===- launch_command.h - The command that starts a job -------------------===//

#ifndef PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H
#define PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// Returns a command that starts the program with `ranks` ranks on this
/// machine, as this user. `arguments` is as in argv: the executable first.
std::string launchCommand(int64_t ranks,
                          const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H
