//===- CompareCommand.h - Device kernels against those of the CPU ---------===//

#ifndef PPOPT_TEST_DEVICE_COMPARECOMMAND_H
#define PPOPT_TEST_DEVICE_COMPARECOMMAND_H

#include "llvm/Support/Error.h"

#include <string>

namespace emulated {

struct CompareCommand {
  std::string kernels, device;
  std::string filter; ///< a regular expression; empty: all kernels
  unsigned seeds = 2;
};

/// Runs each kernel on random arguments, on the emulated device in three orders
/// and as the target cpu computes it, and prints a line of JSON for each: the
/// error of each result, and what the launch did. Errors are joined.
llvm::Error compareKernels(const CompareCommand &command);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_COMPARECOMMAND_H
