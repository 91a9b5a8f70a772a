//===- launch_command.cpp - The command that starts a job -----------------===//

#include "options/launch_command.h"

#include "comm/launcher.h"
#include "ppopt/launch.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace ppopt::train {

/// Returns the argument quoted for a shell.
static std::string quoted(const std::string &argument) {
  bool plain = !argument.empty() &&
               std::all_of(argument.begin(), argument.end(), [](char c) {
                 return std::isalnum(static_cast<unsigned char>(c)) ||
                        std::strchr("-_=./,:+@%", c);
               });
  if (plain)
    return argument;
  std::string text = "'";
  for (char c : argument)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

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
  for (const std::string &argument : arguments)
    words.push_back(quoted(argument));
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace ppopt::train
