//===- operations.cpp - What is enqueued and has not run yet --------------===//

#include "fake/operations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace ppopt::cuda::fake {

static double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Operations::Operations(uint64_t seed, std::function<void(Operation &)> perform)
    : random(seed), perform(std::move(perform)) {
  // Many bugs need all operations late, or some of them early.
  eagerness = std::array{0.0, 0.1, 0.5}[random() % 3];
}

void Operations::add(const OperationRef &operation) {
  for (const OperationRef &earlier : operation->after)
    if (!earlier->isDone) {
      earlier->before.push_back(operation);
      ++operation->blockers;
    }
  waiting.push_back(operation);
  if (operation->blockers == 0)
    ready.push_back(operation);
}

void Operations::unblock(const OperationRef &operation) {
  if (--operation->blockers == 0)
    ready.push_back(operation);
}

void Operations::finish(const OperationRef &operation) {
  operation->isDone = true;
  microseconds += operation->work->microseconds;
  operation->time = countsTime ? double(microseconds) / 1000 : now();
  for (const OperationRef &later : std::exchange(operation->before, {}))
    unblock(later);
  auto found = std::find(waiting.begin(), waiting.end(), operation);
  waiting.erase(found);
}

bool Operations::runOne() {
  if (ready.empty())
    return false;
  std::swap(ready[random() % ready.size()], ready.back());
  OperationRef operation = std::move(ready.back());
  ready.pop_back();
  perform(*operation);
  finish(operation);
  return true;
}

void Operations::runSome() {
  std::uniform_real_distribution<double> draw(0, 1);
  if (draw(random) >= eagerness)
    return;
  while (runOne() && random() % 4 != 0) {
  }
}

} // namespace ppopt::cuda::fake
