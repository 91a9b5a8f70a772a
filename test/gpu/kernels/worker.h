//===- worker.h - The process that uses the GPU ---------------------------===//
//
// A kernel that fails leaves its process without a GPU. So what is run is run
// by a child of the one that reports, which starts another after a failure.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_WORKER_H
#define PPOPT_TEST_GPU_KERNELS_WORKER_H

#include "options.h"
#include "records.h"
#include "tasks.h"

namespace ppopt::gpu {

/// What a worker says, a line of JSON each: an object with one of these fields.
namespace message {
inline constexpr const char *device = "device";   ///< its description
inline constexpr const char *missing = "missing"; ///< why there is no GPU
inline constexpr const char *broken = "broken";   ///< why it cannot begin
inline constexpr const char *begin = "begin";     ///< a task, by its number
inline constexpr const char *record = "record";   ///< of this task
} // namespace message

/// Runs tasks [begin, end), which have the same device code, until one fails.
/// Writes messages to a file descriptor.
void work(const LoadedBundle &bundle, const std::vector<RunTask> &tasks,
          size_t begin, size_t end, const Options &options, int output);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_WORKER_H
