//===- step_trace.cpp - A timeline of the last steps ----------------------===//

#include "executor/step_trace.h"

#include <algorithm>

namespace ppopt::runtime {

StepTrace::StepTrace(const Program &program, const std::vector<Action> &actions,
                     int64_t steps, std::optional<int64_t> launches)
    : wantsCalls(launches.has_value()), ring(std::max<int64_t>(steps, 1)) {
  size_t most = actions.size(), calls = launches.value_or(0);
  auto put = [](auto &list, int64_t operation, const auto &item) {
    list.resize(std::max(list.size(), size_t(operation) + 1), nullptr);
    list[size_t(operation)] = &item;
  };
  for (const Action &action : actions) {
    if (action.kind == ActionKind::start)
      put(starts, action.operation, action);
    if (action.kind != ActionKind::run)
      continue;
    for (const TaskCollective &collective : program.collectives)
      if (collective.task == action.task) {
        most += 2; // it is in flight, and waited for
        ++calls;
        put(collectives, collective.operation, collective);
      }
  }
  begun.resize(std::max(starts.size(), collectives.size()));
  starts.resize(begun.size(), nullptr);
  collectives.resize(begun.size(), nullptr);
  for (TracedStep &step : ring) {
    step.actions.reserve(most);
    if (wantsCalls)
      step.calls.reserve(calls);
  }
}

void StepTrace::beginStep(int64_t number) {
  current = (current + 1) % ring.size();
  TracedStep &step = ring[current];
  step.number = number;
  step.actions.clear();
  step.calls.clear();
  step.begin = step.end = Clock::now();
  isInStep = true;
}

void StepTrace::endStep() {
  ring[current].end = Clock::now();
  isInStep = false;
}

void StepTrace::record(const Action &action, Clock::time_point begin,
                       Clock::time_point end) {
  ring[current].actions.push_back({{begin, end}, &action});
}

void StepTrace::recordWait(const Action &run, const TaskCollective &collective,
                           Clock::time_point begin, Clock::time_point end) {
  ring[current].actions.push_back(
      {{begin, end}, &run, &collective, /*isWait=*/true});
}

void StepTrace::recordCall(TracedCall::Kind kind, int64_t number,
                           Clock::time_point begin, Clock::time_point end) {
  ring[current].calls.push_back({{begin, end}, kind, number, run});
}

void StepTrace::began(int operation) {
  if (!isInStep)
    return;
  TracedStep &step = ring[current];
  begun[operation] = {&step, step.number, step.actions.size()};
  ++operationsInFlight;
  Clock::time_point now = Clock::now();
  const TaskCollective *collective = collectives[operation];
  step.actions.push_back(
      {{now, now}, collective ? run : starts[operation], collective});
}

void StepTrace::ended(int operation) {
  if (size_t(operation) >= begun.size() || !begun[operation].step)
    return;
  Begun &start = begun[operation];
  if (start.step->number == start.number)
    start.step->actions[start.action].end = Clock::now();
  start.step = nullptr;
  --operationsInFlight;
}

std::vector<const TracedStep *> StepTrace::steps() const {
  std::vector<const TracedStep *> steps;
  for (size_t i = 1; i <= ring.size(); ++i) {
    const TracedStep &step = ring[(current + i) % ring.size()];
    if (step.number > 0)
      steps.push_back(&step);
  }
  return steps;
}

} // namespace ppopt::runtime
