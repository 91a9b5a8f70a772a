//===- activity.cpp - What a rank is doing, for the watch -----------------===//

#include "comm/activity.h"

#include <fmt/format.h>

namespace ppopt::comm {

Activity::State Activity::read() const {
  State state;
  int64_t began = waitBegan.load(std::memory_order_acquire);
  state.part = part.load(std::memory_order_relaxed);
  state.step = step.load(std::memory_order_relaxed);
  state.action = action.load(std::memory_order_relaxed);
  state.waitsIn = waitsIn.load(std::memory_order_relaxed);
  state.operation = operation.load(std::memory_order_relaxed);
  state.waitsFor = waitsFor.load(std::memory_order_relaxed);
  // A wait that is long enough to matter does not change while it is read.
  if (began == 0 || waitBegan.load(std::memory_order_acquire) != began)
    began = 0;
  state.waited = began == 0
                     ? 0
                     : std::chrono::duration<double>(
                           std::chrono::steady_clock::duration(now() - began))
                           .count();
  if (began == 0)
    state.waitsIn = WaitsIn::Nothing;
  return state;
}

std::string Activity::describe(const State &state) const {
  std::lock_guard<std::mutex> guard(lock);
  if (describer)
    return describer(state);
  std::string wait = describeWait(state);
  return describePart(state) + (wait.empty() ? "" : ", " + wait);
}

std::string describePart(const Activity::State &state) {
  switch (state.part) {
  case Activity::Part::Starting:
    return "before the first step";
  case Activity::Part::Step:
    return fmt::format("step {}", state.step);
  case Activity::Part::Evaluation:
    return fmt::format("evaluation after step {}", state.step);
  case Activity::Part::Average:
    return fmt::format("exchange of averages after step {}", state.step);
  case Activity::Part::Between:
    return fmt::format("after step {}", state.step);
  case Activity::Part::Ending:
    return "at the end";
  }
  return {};
}

std::string describeWait(const Activity::State &state) {
  if (state.waitsIn == Activity::WaitsIn::Nothing)
    return {};
  std::string text = fmt::format("waits {:.1f} s", state.waited);
  if (state.waitsFor != Activity::anyRank)
    text += fmt::format(" for rank {}", state.waitsFor);
  switch (state.waitsIn) {
  case Activity::WaitsIn::Message:
    return text + ": a message between steps";
  case Activity::WaitsIn::Barrier:
    return text + " until all ranks are there";
  case Activity::WaitsIn::End:
    return text + " until all ranks have ended";
  default:
    return text;
  }
}

} // namespace ppopt::comm
