//===- tasks.h - What is run, in its order --------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_TASKS_H
#define PPOPT_TEST_GPU_KERNELS_TASKS_H

#include "instructions.h"
#include "read_bundle.h"

namespace ppopt::gpu {

/// A launch of the bundle, or an instruction.
struct RunTask {
  const Launch *launch = nullptr;
  const Instruction *instruction = nullptr;

  std::string name() const { return launch ? launch->name : instruction->name; }
  std::string form() const { return launch ? launch->form : "instruction"; }
  /// Of the files with its device code.
  const char *stem() const { return launch ? kernelsStem : instructionsStem; }
};

/// Returns those whose names match a regular expression, instructions first.
/// Throws runtime::Error if there is none.
std::vector<RunTask> chooseTasks(const LoadedBundle &bundle,
                                 const std::string &only);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_TASKS_H
