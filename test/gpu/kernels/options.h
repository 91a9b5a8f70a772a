//===- options.h - The command line of ppopt-gpu-kernels ------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_OPTIONS_H
#define PPOPT_TEST_GPU_KERNELS_OPTIONS_H

#include <optional>
#include <string>

namespace ppopt::gpu {

struct Options {
  std::string folder;
  std::string only; ///< a regular expression; empty: all
  std::string json; ///< a file; empty: none
  double limit = 0; ///< seconds; 0: none
  double patience = 60;
  bool times = true, list = false;
};

/// Reads the command line. On an error says what is wrong, and returns nothing;
/// so it does after --help.
std::optional<Options> readOptions(int argc, char **argv, int &status);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_OPTIONS_H
