//===- command-line.cpp - Fuzzes the flags of executables -----------------===//
//
// The input is words, one per line.
//
//===----------------------------------------------------------------------===//

#include "app/command_line.h"
#include "options/launch_command.h"
#include "train_program.h"

#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ppopt;
  static const runtime::Program program =
      runtime::readProgram(next_token::program(2, 1, "momentum").dump());
  std::vector<std::string> words = {"./train"};
  std::istringstream lines({reinterpret_cast<const char *>(data), size});
  for (std::string word; std::getline(lines, word);)
    words.push_back(word);
  try {
    train::parseCommandLine(program, words);
    train::launchCommand(program.plan.ranks(), words);
  } catch (const train::UsageError &) {
  }
  return 0;
}
