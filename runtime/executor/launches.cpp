//===- launches.cpp - Kernels and matmuls of tasks ------------------------===//

#include "device/progress_hook.h"
#include "executor/rank.h"
#include "executor/serving.h"
#include "executor/step_trace.h"

#include <chrono>
#include <exception>

using namespace ppopt;
using namespace ppopt::runtime;

namespace {

/// While it lives, progresses communication inside the launch that runs, if
/// anything is in flight.
class ProgressInside final : public device::ProgressHook {
public:
  using Clock = StepProfile::Clock;

  explicit ProgressInside(ppopt_rank &rank) : rank(rank) {
    hasInFlight = rank.channels && rank.channels->hasInFlight();
    if (!hasInFlight && !rank.serving)
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
    if (rank.failure || begin - last < interval)
      return;
    try {
      if (hasInFlight)
        rank.channels->progress();
      if (rank.serving)
        rank.serving->serve();
    } catch (...) {
      rank.failure = std::current_exception();
    }
    last = Clock::now();
    spentTime += last - begin;
  }

  /// Returns how long it has taken.
  Clock::duration spent() const { return spentTime; }

private:
  ppopt_rank &rank;
  bool hasInFlight = false;
  Clock::time_point last;
  Clock::duration spentTime{};
};

/// Runs a launch, and adds its time to a line of the profile, if there is one.
template <typename Launch>
void measure(ppopt_rank &rank, ProfileLine *line, const Launch &launch) {
  if (line && rank.launchTimes)
    return rank.launchTimes->measure(*line, launch);
  ProgressInside inside(rank);
  {
    LineTimer timer(line);
    launch();
    if (line)
      rank.device->synchronize(rank.compute);
  }
  if (!line)
    return;
  line->time -= inside.spent();
  rank.profile->progress().time += inside.spent();
}

/// Also records it in the trace, if there is one.
template <typename Launch>
void trace(ppopt_rank &rank, TracedCall::Kind kind, int32_t number,
           ProfileLine *line, const Launch &launch) {
  if (!rank.launchTrace)
    return measure(rank, line, launch);
  Clock::time_point begin = Clock::now();
  measure(rank, line, launch);
  rank.device->synchronize(rank.compute);
  rank.launchTrace->recordCall(kind, number, begin, Clock::now());
}

void progress(ppopt_rank &rank) {
  if ((!rank.channels && !rank.serving) || rank.failure)
    return;
  LineTimer timer(rank.profile ? &rank.profile->progress() : nullptr);
  if (rank.channels)
    rank.channels->progress();
  if (rank.serving)
    rank.serving->serve();
}

/// Runs one launch, counts it, and progresses communication. Exceptions must
/// not pass through compiled code.
template <typename Launch>
void perform(ppopt_rank &rank, TracedCall::Kind kind, int32_t number,
             ProfileLine *line, int64_t flops, const Launch &launch) {
  if (rank.failure)
    return;
  ++rank.counters.launches;
  rank.counters.flops += flops;
  try {
    trace(rank, kind, number, line, launch);
    progress(rank);
  } catch (...) {
    rank.failure = std::current_exception();
  }
}

} // namespace

void ppopt_rank::Aside::launch(int32_t kernel, ppopt_kernel_fn fn,
                               void *const *args, int64_t tiles) const {
  if (rank.failure)
    return;
  try {
    if (isWithinLaunch)
      fn(args, 0, tiles); // the rank's other threads are busy
    else
      rank.device->launch(rank.compute, kernel, fn, args, tiles);
  } catch (...) {
    rank.failure = std::current_exception();
  }
}

void ppopt_launch(ppopt_rank *rank, int32_t kernel, ppopt_kernel_fn fn,
                  void *const *args, int64_t tiles) {
  if (rank->dryRun)
    return;
  if (rank->aside)
    return rank->aside->launch(kernel, fn, args, tiles);
  perform(*rank, TracedCall::kernel, kernel,
          rank->profile ? &rank->profile->kernel(kernel) : nullptr,
          rank->program.kernels[kernel].flops, [&] {
            rank->device->launch(rank->compute, kernel, fn, args, tiles);
          });
}

void ppopt_matmul(ppopt_rank *rank, int32_t matmul, const void *a,
                  const void *b, void *c, void *workspace) {
  using device::DevicePointer;
  if (rank->dryRun) {
    rank->dryRun->push_back({matmul, DevicePointer(a), DevicePointer(b),
                             DevicePointer(c), DevicePointer(workspace)});
    return;
  }
  perform(*rank, TracedCall::matmul, matmul,
          rank->profile ? &rank->profile->matmul(matmul) : nullptr,
          rank->program.matmuls[matmul].descriptor.flops(), [&] {
            rank->device->matmul(rank->compute, matmul, DevicePointer(a),
                                 DevicePointer(b), DevicePointer(c),
                                 DevicePointer(workspace));
          });
}
