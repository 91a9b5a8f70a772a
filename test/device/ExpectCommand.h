//===- ExpectCommand.h - ppopt-emulate --save-expectations ----------------===//

#ifndef PPOPT_TEST_DEVICE_EXPECTCOMMAND_H
#define PPOPT_TEST_DEVICE_EXPECTCOMMAND_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace emulated {

struct ExpectCommand {
  std::string kernels;  ///< the module, as --stop-after=kernels writes it
  std::string folder;   ///< which is made
  std::string filter;   ///< a regular expression; empty: all
  std::string gpu;      ///< of the cubins; empty: the target's first
  int64_t samples = 0;  ///< of each result
  int64_t operands = 0; ///< of each approximate instruction
  std::string deviceIR; ///< files that get LLVM IR, if they are not empty
  std::string instructionIR;
};

/// Writes what ppopt-gpu-kernels needs (test/gpu/kernels/README.md): device
/// code, how kernels and matmuls are launched, and samples of what they must
/// compute. Kernels are computed as the target cpu does, matmuls by a loop in a
/// wider type. Prints a line for each.
llvm::Error writeExpectations(const ExpectCommand &command);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_EXPECTCOMMAND_H
