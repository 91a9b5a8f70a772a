//===- supervisor.h - Runs workers, and reports ---------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_SUPERVISOR_H
#define PPOPT_TEST_GPU_KERNELS_SUPERVISOR_H

#include "options.h"
#include "tasks.h"

namespace ppopt::gpu {

/// Runs all tasks, each in a process that ends if it fails, and prints a line
/// for each. Returns the exit status: 0, 1 or 3.
int supervise(const LoadedBundle &bundle, const std::vector<RunTask> &tasks,
              const Options &options);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_SUPERVISOR_H
