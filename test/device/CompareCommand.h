//===- CompareCommand.h - Device kernels against those of the CPU ---------===//

#ifndef PPOPT_TEST_DEVICE_COMPARECOMMAND_H
#define PPOPT_TEST_DEVICE_COMPARECOMMAND_H

#include "llvm/Support/Error.h"

#include <string>

namespace emulated {

struct CompareCommand {
  std::string kernels;
  std::string device; ///< empty: what the kernels' target makes of them
  std::string saved;  ///< where to write the device code; empty: nowhere
  std::string filter; ///< a regular expression; empty: all kernels
  unsigned seeds = 2;
  /// A file with the digests of kernels that have been compared, which are left
  /// out; this command adds those that it compares. Empty: none.
  std::string compared;
  /// Runs only the first, middle and last blocks, on zeros, and compares
  /// nothing: of kernels whose buffers are larger than the machine's memory.
  bool isOfEnds = false;
};

/// Runs each kernel on random arguments, on the emulated device (emulateDraw)
/// and as the target cpu computes it, and prints a line of JSON for each: the
/// error of each result, and what the launch did. Errors are joined.
llvm::Error compareKernels(const CompareCommand &command);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_COMPARECOMMAND_H
