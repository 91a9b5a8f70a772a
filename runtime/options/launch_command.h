//===- launch_command.h - The command that starts a job -------------------===//

#ifndef PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H
#define PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// A command that starts the program with the right number of ranks on this
/// machine, as this user. `arguments` as in argv, the executable first.
std::string launchCommand(int64_t ranks,
                          const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OPTIONS_LAUNCH_COMMAND_H
