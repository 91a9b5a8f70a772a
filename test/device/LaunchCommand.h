//===- LaunchCommand.h - ppopt-emulate --launch ---------------------------===//

#ifndef PPOPT_TEST_DEVICE_LAUNCHCOMMAND_H
#define PPOPT_TEST_DEVICE_LAUNCHCOMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace emulated {

/// A kernel and its buffers, as the command line has them.
struct LaunchCommand {
  std::string device, kernel;
  unsigned grid = 1;
  unsigned sharedBytes = 0;
  std::vector<unsigned> blocks;
  /// One for each pointer: in:TYPE:FILE, out:TYPE:COUNT:FILE,
  /// inout:TYPE:FILE:FILE, zeros:TYPE:COUNT (an input), any:TYPE:COUNT (an
  /// output that is not kept). An @N after TYPE moves the buffer by N bytes.
  std::vector<std::string> buffers;
};

/// Runs the launch in all orders, writes the outputs, prints its counters.
llvm::Error runLaunch(const LaunchCommand &command);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_LAUNCHCOMMAND_H
