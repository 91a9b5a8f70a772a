//===- queues.cpp - Operations that have not run yet ----------------------===//

#include "device/fake/queues.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace ppopt::fake {

Queues::Queues(uint64_t seed) : random(seed) {
  // Many bugs need all operations late, or some of them early.
  eagerness = std::array{0.0, 0.1, 0.5}[random() % 3];
}

int Queues::addStream() {
  queues.emplace_back();
  return int(queues.size()) - 1;
}

int Queues::addEvent() {
  lastRecord.push_back(0);
  return int(lastRecord.size()) - 1;
}

void Queues::add(int stream, std::function<void()> run) {
  queues[stream].push_back({std::move(run), 0, 0, nullptr});
  runSome();
}

void Queues::hold(int stream, std::function<bool()> isOver) {
  queues[stream].push_back({nullptr, 0, 0, std::move(isOver)});
}

void Queues::record(int event, int stream) {
  lastRecord[event] = int64_t(complete.size());
  complete.push_back(queues[stream].empty());
  if (!complete.back())
    queues[stream].push_back({nullptr, lastRecord[event], 0, nullptr});
}

void Queues::wait(int stream, int event) {
  if (!complete[lastRecord[event]])
    queues[stream].push_back({nullptr, 0, lastRecord[event], nullptr});
}

bool Queues::mayRun(const std::deque<Entry> &queue) const {
  return !queue.empty() && complete[queue.front().needs] &&
         (!queue.front().isOver || queue.front().isOver());
}

bool Queues::isHeld() const {
  return std::any_of(queues.begin(), queues.end(), [](const auto &queue) {
    return !queue.empty() && queue.front().isOver;
  });
}

bool Queues::runOne() {
  size_t ready = 0, chosen = 0;
  for (size_t stream = 0; stream < queues.size(); ++stream)
    if (mayRun(queues[stream]) && random() % ++ready == 0)
      chosen = stream;
  if (ready == 0)
    return false;
  Entry entry = std::move(queues[chosen].front());
  queues[chosen].pop_front();
  if (entry.run)
    entry.run();
  if (entry.reaches)
    complete[entry.reaches] = true;
  return true;
}

void Queues::runSome() {
  std::uniform_real_distribution<double> draw(0, 1);
  if (draw(random) >= eagerness)
    return;
  while (runOne() && random() % 4 != 0) {
  }
}

bool Queues::isComplete(int event) {
  if (!complete[lastRecord[event]] && random() % 2)
    runOne();
  return complete[lastRecord[event]];
}

void Queues::finish(int stream) {
  // The operation that was enqueued first of all may always run.
  while (!queues[stream].empty())
    if (!runOne() && !isHeld())
      throw std::logic_error("fake device: streams wait for each other");
}

void Queues::finishAll() {
  while (runOne() || isHeld()) {
  }
}

int64_t Queues::discard() {
  int64_t count = 0;
  for (std::deque<Entry> &queue : queues) {
    count += std::count_if(queue.begin(), queue.end(),
                           [](const Entry &entry) { return bool(entry.run); });
    queue.clear();
  }
  return count;
}

bool Queues::isEmpty() const {
  return std::all_of(queues.begin(), queues.end(),
                     [](const auto &queue) { return queue.empty(); });
}

} // namespace ppopt::fake
