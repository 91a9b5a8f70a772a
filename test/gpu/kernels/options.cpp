//===- options.cpp - The command line of ppopt-gpu-kernels ----------------===//

#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ppopt::gpu {
namespace {

constexpr const char *help =
    R"(usage: ppopt-gpu-kernels FOLDER [flags]

Runs each kernel and matmul of a program on the GPU of this machine, compares
the results with those in FOLDER, which ppopt-emulate --save-expectations has
written, and measures times. Then measures the errors of approximate
instructions. Prints a line for each.

Exit status: 0 if all agree, 1 if some do not or were not run, 2 for a wrong
command line, 3 if this machine has no GPU or no driver.

  --only REGEX        those whose names match
  --limit SECONDS     start no more after so long, and end what runs
  --patience SECONDS  that one may take before its process is ended (default 60)
  --no-times          measure no times
  --json FILE         write a line of JSON for each
  --list              list them, without a GPU
)";

} // namespace

std::optional<Options> readOptions(int argc, char **argv, int &status) {
  Options options;
  auto refuse = [&](const std::string &what) -> std::optional<Options> {
    std::fprintf(stderr,
                 "ppopt-gpu-kernels: error: %s; --help lists the flags\n",
                 what.c_str());
    status = 2;
    return std::nullopt;
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    auto readText = [&](std::string &text) {
      if (i + 1 < argc)
        text = argv[++i];
      return !text.empty();
    };
    auto readSeconds = [&](double &seconds) {
      std::string text;
      char *end = nullptr;
      if (!readText(text))
        return false;
      seconds = std::strtod(text.c_str(), &end);
      return *end == 0 && seconds > 0;
    };
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      status = 0;
      return std::nullopt;
    }
    if (word == "--no-times")
      options.times = false;
    else if (word == "--list")
      options.list = true;
    else if (word == "--only" || word == "--json") {
      if (!readText(word == "--only" ? options.only : options.json))
        return refuse(std::string(word) + " takes a value");
    } else if (word == "--limit" || word == "--patience") {
      if (!readSeconds(word == "--limit" ? options.limit : options.patience))
        return refuse(std::string(word) + " takes a number of seconds");
    } else if (word.substr(0, 1) == "-") {
      return refuse("'" + std::string(word) + "' is no flag");
    } else if (!options.folder.empty()) {
      return refuse("two folders: '" + options.folder + "' and '" +
                    std::string(word) + "'");
    } else {
      options.folder = word;
    }
  }
  if (options.folder.empty())
    return refuse("no folder");
  return options;
}

} // namespace ppopt::gpu
