//===- parallel.h - Loops on all cores ------------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_PARALLEL_H
#define PPOPT_TEST_GPU_KERNELS_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace ppopt::gpu {

/// Calls `body(begin, end)` for parts of [0, count), which begin at multiples
/// of `grain`, on as many threads as there are cores (at most 16).
template <typename Body>
void forParts(int64_t count, int64_t grain, const Body &body) {
  int64_t grains = (count + grain - 1) / grain;
  int64_t threads = std::clamp<int64_t>(
      std::min<int64_t>(grains, std::thread::hardware_concurrency()), 1, 16);
  auto begin = [&](int64_t part) {
    return std::min(count, part * grains / threads * grain);
  };
  std::vector<std::thread> team;
  for (int64_t part = 1; part < threads; ++part)
    team.emplace_back([&, part] { body(begin(part), begin(part + 1)); });
  body(0, begin(1));
  for (std::thread &each : team)
    each.join();
}

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_PARALLEL_H
