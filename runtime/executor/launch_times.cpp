//===- launch_times.cpp - Launches timed by their device ------------------===//

#include "executor/launch_times.h"

namespace ppopt::runtime {

LaunchTimes::LaunchTimes(device::Device &device, device::Stream stream,
                         int64_t most)
    : device(device), stream(stream) {
  pending.reserve(size_t(most));
  points.reserve(size_t(most));
  for (int64_t i = 0; i < most; ++i) {
    device::TimePoint begin = device.makeTimePoint();
    points.emplace_back(begin, device.makeTimePoint());
  }
}

void LaunchTimes::collect() {
  for (size_t i = 0; i < pending.size(); ++i)
    pending[i]->add(device.between(points[i].first, points[i].second));
  pending.clear();
}

} // namespace ppopt::runtime
