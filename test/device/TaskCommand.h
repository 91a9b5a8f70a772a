//===- TaskCommand.h - ppopt-emulate --tasks ------------------------------===//

#ifndef PPOPT_TEST_DEVICE_TASKCOMMAND_H
#define PPOPT_TEST_DEVICE_TASKCOMMAND_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace emulated {

/// Tasks of a module of phase kernels, and the folder of their values.
struct TaskCommand {
  std::string kernels, device, saved; ///< as of CompareCommand
  std::vector<std::string> tasks;
  /// A value is a file named for its role, ROLE.NAME ("param.w", "grad.w",
  /// "input.x", "saved.s0.v0", "loss.loss"), of its elements.
  std::string folder;
};

/// Runs the launches of the tasks, in order, each in a random order of its
/// threads.
/// Reads the values that the tasks take, and writes those that they change;
/// gradients and the loss begin as zeros where there is no file.
llvm::Error runTasks(const TaskCommand &command);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_TASKCOMMAND_H
