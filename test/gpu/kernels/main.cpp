//===- main.cpp - Kernels of a program on the GPU of this machine ---------===//
//
// README.md says what is measured.
//
//===----------------------------------------------------------------------===//

#include "base/error.h"
#include "instruction_run.h"
#include "launch_run.h"
#include "options.h"
#include "supervisor.h"

#include <cstdio>
#include <exception>

using namespace ppopt::gpu;

static void list(const std::vector<RunTask> &tasks, int64_t operands) {
  for (const RunTask &task : tasks) {
    int64_t bytes = task.launch
                        ? LaunchRun::bytesOf(*task.launch)
                        : bytesOfInstruction(*task.instruction, operands);
    std::printf("%-44s %-14s %10.1f MiB\n", task.name().c_str(),
                task.form().c_str(), double(bytes) / (1 << 20));
  }
}

int main(int argc, char **argv) {
  int status = 0;
  std::optional<Options> options = readOptions(argc, argv, status);
  if (!options)
    return status;
  try {
    LoadedBundle bundle = readBundle(options->folder);
    std::vector<RunTask> tasks = chooseTasks(bundle, options->only);
    if (options->list) {
      list(tasks, bundle.operands);
      return 0;
    }
    return supervise(bundle, tasks, *options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "ppopt-gpu-kernels: error: %s\n", error.what());
    return 1;
  }
}
