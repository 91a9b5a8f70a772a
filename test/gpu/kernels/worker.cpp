//===- worker.cpp - The process that uses the GPU -------------------------===//

#include "worker.h"

#include "base/missing_device.h"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace ppopt::gpu {
namespace {

class Worker {
public:
  Worker(const LoadedBundle &bundle, const Options &options, int output)
      : bundle(bundle), options(options), output(output) {}

  void run(const std::vector<RunTask> &tasks, size_t begin, size_t end);

private:
  bool start(const std::vector<RunTask> &tasks, size_t begin, size_t end);
  void reserve(const std::vector<RunTask> &tasks, size_t begin, size_t end);
  Record runTask(const RunTask &task);
  void say(const char *field, Record value);
  int64_t bytesOf(const RunTask &task) const {
    return task.launch ? LaunchRun::bytesOf(*task.launch)
                       : bytesOfInstruction(*task.instruction, bundle.operands);
  }

  const LoadedBundle &bundle;
  const Options &options;
  const int output;
  std::optional<Workbench> bench;
  int64_t reserved = 0;
  std::string tooLarge; ///< why there is no more memory
};

} // namespace

void Worker::say(const char *field, Record value) {
  std::string line = Record{{field, std::move(value)}}.dump(
                         -1, ' ', false, Record::error_handler_t::replace) +
                     "\n";
  for (size_t at = 0; at < line.size();) {
    ssize_t written = ::write(output, line.data() + at, line.size() - at);
    if (written <= 0)
      ::_exit(1); // nobody listens
    at += size_t(written);
  }
}

/// Gets the memory of the largest task; if there is not so much, of the largest
/// that fits.
void Worker::reserve(const std::vector<RunTask> &tasks, size_t begin,
                     size_t end) {
  std::set<int64_t> sizes;
  for (size_t i = begin; i < end; ++i)
    sizes.insert(bytesOf(tasks[i]));
  for (auto size = sizes.rbegin(); size != sizes.rend() && !reserved; ++size)
    try {
      bench->reserve(*size);
      reserved = *size;
    } catch (const runtime::Error &error) {
      tooLarge = error.what();
    }
}

bool Worker::start(const std::vector<RunTask> &tasks, size_t begin,
                   size_t end) {
  try {
    bench.emplace(bundle.folder, tasks[begin].stem(), bundle.gpu);
    reserve(tasks, begin, end);
    return true;
  } catch (const runtime::MissingDevice &error) {
    say(message::missing, error.what());
  } catch (const std::exception &error) {
    say(message::broken, error.what());
  }
  return false;
}

Record Worker::runTask(const RunTask &task) {
  if (task.instruction)
    return makeRecord(
        *task.instruction,
        runInstruction(*bench, *task.instruction, bundle.operands));
  LaunchRun launch(*bench, *task.launch, bundle.seed);
  LaunchFindings findings = launch.run(bundle.samples, options.times);
  return makeRecord(*task.launch, findings, bench->device->describe());
}

void Worker::run(const std::vector<RunTask> &tasks, size_t begin, size_t end) {
  if (!start(tasks, begin, end))
    return;
  say(message::device, bench->device->describe());
  for (size_t i = begin; i < end; ++i) {
    const RunTask &task = tasks[i];
    say(message::begin, i);
    if (bytesOf(task) > reserved) {
      say(message::record, makeFailure(task.name(), task.form(), tooLarge,
                                       /*wasRun=*/false));
      continue;
    }
    try {
      say(message::record, runTask(task));
    } catch (const std::exception &error) {
      say(message::record,
          makeFailure(task.name(), task.form(), error.what(), true));
      // The device may be of no use any more.
      return;
    }
  }
}

void work(const LoadedBundle &bundle, const std::vector<RunTask> &tasks,
          size_t begin, size_t end, const Options &options, int output) {
  Worker(bundle, options, output).run(tasks, begin, end);
}

} // namespace ppopt::gpu
