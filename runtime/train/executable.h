//===- executable.h - A compiled program as a command ---------------------===//

#ifndef PPOPT_TRAIN_EXECUTABLE_H
#define PPOPT_TRAIN_EXECUTABLE_H

#include "ppopt/runtime.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// What the compiler put into the executable.
struct CompiledProgram {
  std::string_view json;
  const ppopt_task_fn *tasks;
  /// The program that generates, or why there is none.
  std::string_view generationJson;
  const ppopt_task_fn *generationTasks;
};

/// Runs the command and returns its exit status: 0; 1 for anything that went
/// wrong; 2 for a command line that cannot be meant. An error is one line on
/// standard error, printed by one rank.
int runExecutable(const CompiledProgram &compiled,
                  const std::vector<std::string> &arguments);

} // namespace ppopt::train

#endif // PPOPT_TRAIN_EXECUTABLE_H
