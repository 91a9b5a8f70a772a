//===- launch_times.h - Launches timed by their device --------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_LAUNCH_TIMES_H
#define PPOPT_RUNTIME_EXECUTOR_LAUNCH_TIMES_H

#include "device/device.h"
#include "executor/step_profile.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ppopt::runtime {

/// The times of launches that are enqueued one after the other, without the
/// time that the host takes. It allocates nothing after it was made.
class LaunchTimes {
public:
  /// `most`: launches between two calls of `collect`. The device has a clock.
  LaunchTimes(device::Device &device, device::Stream stream, int64_t most);

  /// Calls `launch`, which enqueues a launch.
  template <typename Launch>
  void measure(ProfileLine &line, const Launch &launch) {
    const auto &[begin, end] = points.at(pending.size());
    device.mark(begin, stream);
    launch();
    device.mark(end, stream);
    pending.push_back(&line);
  }

  /// Adds the times to the lines. The stream is synchronized.
  void collect();

private:
  device::Device &device;
  const device::Stream stream;
  std::vector<std::pair<device::TimePoint, device::TimePoint>> points;
  std::vector<ProfileLine *> pending; ///< measured and not collected
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_LAUNCH_TIMES_H
