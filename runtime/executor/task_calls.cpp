//===- task_calls.cpp - Calls of tasks, and what they call back -----------===//

#include "executor/task_calls.h"

#include "device/progress_hook.h"
#include "executor/rank.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ppopt::runtime {

TaskCalls::TaskCalls(ppopt_rank &rank, const ppopt_task_fn *tasks)
    : rank(rank), tasks(tasks) {
  size_t most = 0;
  for (const auto *list : rank.places.lists())
    for (const Action &action : *list)
      most = std::max(most, action.arguments.size());
  arguments.resize(most);
}

void TaskCalls::call(const Action &action) {
  const PlaceMemory &memory = rank.places.memoryOf(action.place);
  for (size_t i = 0, e = action.arguments.size(); i < e; ++i)
    arguments[i] = memory.at(action.arguments[i]).opaque();
  tasks[action.task](
      &rank, arguments.data(),
      static_cast<char *>(memory.at(action.temporaries).opaque()));
}

void TaskCalls::run(const Action &action) {
  call(action);
  if (failure)
    std::rethrow_exception(failure);
}

void TaskCalls::runAside(int64_t task, void *const *args, char *temps) {
  Mode before = std::exchange(
      mode, device::progressHook ? Mode::AsideWithinLaunch : Mode::Aside);
  tasks[task](&rank, args, temps);
  mode = before;
  if (failure)
    std::rethrow_exception(failure);
}

std::vector<MatmulCall>
TaskCalls::listMatmuls(const std::vector<Action> &actions) {
  mode = Mode::List;
  for (const Action &action : actions)
    if (action.kind == ActionKind::run)
      call(action);
  mode = Mode::Step;
  return std::exchange(listed, {});
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// While it lives, progresses the background inside the launch that runs, if
/// there is need.
class TaskCalls::ProgressInside final : public device::ProgressHook {
public:
  using Clock = StepProfile::Clock;

  explicit ProgressInside(TaskCalls &calls) : calls(calls) {
    if (!calls.rank.background.isPending())
      return;
    last = Clock::now();
    device::progressHook = this;
  }
  ~ProgressInside() override { device::progressHook = nullptr; }
  ProgressInside(const ProgressInside &) = delete;
  ProgressInside &operator=(const ProgressInside &) = delete;

  void progress() noexcept override {
    // Looking at requests costs up to a microsecond.
    constexpr std::chrono::microseconds interval(20);
    Clock::time_point begin = Clock::now();
    if (begin - last < interval)
      return;
    calls.guard([&] { calls.rank.background.progress(); });
    last = Clock::now();
    spentTime += last - begin;
  }

  /// Returns how long it has taken.
  Clock::duration spent() const { return spentTime; }

private:
  TaskCalls &calls;
  Clock::time_point last;
  Clock::duration spentTime{};
};

/// Runs a launch, and adds its time to a line of the profile, if there is one.
template <typename Launch>
void TaskCalls::measure(ProfileLine *line, const Launch &launch) {
  if (line && rank.recording.launchTimes)
    return rank.recording.launchTimes->measure(*line, launch);
  ProgressInside inside(*this);
  {
    LineTimer timer(line);
    launch();
    if (line)
      rank.device->synchronize(rank.compute);
  }
  if (!line)
    return;
  line->time -= inside.spent();
  rank.recording.profile->progress().time += inside.spent();
}

/// Also records it in the trace, if there is one.
template <typename Launch>
void TaskCalls::trace(TracedCall::Kind kind, int32_t number, ProfileLine *line,
                      const Launch &launch) {
  StepTrace *trace = rank.recording.launchTrace;
  if (!trace)
    return measure(line, launch);
  Clock::time_point begin = Clock::now();
  measure(line, launch);
  rank.device->synchronize(rank.compute);
  trace->recordCall(kind, number, begin, Clock::now());
}

void TaskCalls::progress() {
  if (rank.background.isEmpty() || failure)
    return;
  LineTimer timer(rank.recording.profile ? &rank.recording.profile->progress()
                                         : nullptr);
  rank.background.progress();
}

/// Runs one launch, counts it, and progresses the background.
template <typename Launch>
void TaskCalls::perform(TracedCall::Kind kind, int32_t number,
                        ProfileLine *line, int64_t flops,
                        const Launch &launch) {
  guard([&] {
    ++counted.launches;
    counted.flops += flops;
    trace(kind, number, line, launch);
    progress();
  });
}

void TaskCalls::launch(int32_t kernel, ppopt_kernel_fn fn, void *const *args,
                       int64_t tiles) {
  auto launch = [&] {
    rank.device->launch(rank.compute, kernel, fn, args, tiles);
  };
  StepProfile *profile = rank.recording.profile;
  switch (mode) {
  case Mode::Step:
    return perform(TracedCall::kernel, kernel,
                   profile ? &profile->kernel(kernel) : nullptr,
                   rank.program.kernels[kernel].flops, launch);
  case Mode::Aside:
    return guard(launch);
  case Mode::AsideWithinLaunch:
    return guard([&] { fn(args, 0, tiles); });
  case Mode::List:
    break;
  }
}

void TaskCalls::matmul(const MatmulCall &call) {
  if (mode == Mode::List)
    return listed.push_back(call);
  StepProfile *profile = rank.recording.profile;
  perform(TracedCall::matmul, call.matmul,
          profile ? &profile->matmul(call.matmul) : nullptr,
          rank.program.matmuls[call.matmul].descriptor.flops(), [&] {
            rank.device->matmul(rank.compute, call.matmul, call.a, call.b,
                                call.c, call.workspace);
          });
}

} // namespace ppopt::runtime

using ppopt::device::DevicePointer;

void ppopt_launch(ppopt_rank *rank, int32_t kernel, ppopt_kernel_fn fn,
                  void *const *args, int64_t tiles) {
  rank->calls.launch(kernel, fn, args, tiles);
}

void ppopt_matmul(ppopt_rank *rank, int32_t matmul, const void *a,
                  const void *b, void *c, void *workspace) {
  rank->calls.matmul({matmul, DevicePointer(a), DevicePointer(b),
                      DevicePointer(c), DevicePointer(workspace)});
}

void ppopt_start(ppopt_rank *rank, int32_t collective, const void *in,
                 void *out, void *scratch) {
  rank->calls.guard([&] {
    rank->collectives.start(collective, DevicePointer(in), DevicePointer(out),
                            DevicePointer(scratch));
  });
}

void ppopt_wait(ppopt_rank *rank, int32_t collective) {
  rank->calls.guard([&] { rank->collectives.wait(collective); });
}

void ppopt_release(ppopt_rank *rank, void *buffer, int64_t bytes) {
  if (rank->calls.poisons())
    rank->calls.guard([&] {
      rank->device->fill(rank->compute, DevicePointer(buffer), 0xFF, bytes);
    });
}
