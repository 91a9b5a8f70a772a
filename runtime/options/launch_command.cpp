//===- launch_command.cpp - The command that starts a job -----------------===//

#include "options/launch_command.h"

#include "comm/launcher.h"
#include "ppopt/launch.h"
#include "ppopt/shell_word.h"

#include <fmt/ranges.h>

#include <thread>
#include <unistd.h>

namespace ppopt::train {

std::string launchCommand(int64_t ranks,
                          const std::vector<std::string> &arguments) {
  std::vector<std::string> words;
  if (ranks > 1) {
    if (::geteuid() == 0)
      words.push_back(launchAsRoot);
    words.push_back("mpirun");
    if (ranks > static_cast<int64_t>(std::thread::hardware_concurrency()))
      words.push_back(launchOversubscribed);
    words.push_back(launchFlags);
    if (!comm::onSeveralMachines())
      words.push_back(launchOnOneMachine);
    words.insert(words.end(), {"-np", std::to_string(ranks)});
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    words.push_back(i == 0 ? shellCommand(arguments[i])
                           : shellWord(arguments[i]));
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace ppopt::train
