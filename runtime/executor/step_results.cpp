//===- step_results.cpp - The numbers of a step that the host reads -------===//

#include "executor/step_results.h"

#include "executor/rank.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace ppopt::runtime {
namespace {

using device::DevicePointer;

double readNumber(const char *data, ElementType type) {
  auto as = [&](auto number) {
    std::memcpy(&number, data, sizeof number);
    return double(number);
  };
  switch (type) {
  case ElementType::f32:
    return as(float());
  case ElementType::f64:
    return as(double());
  case ElementType::i32:
    return as(int32_t());
  case ElementType::i64:
    return as(int64_t());
  default: // readProgram allows no other type for scalars
    return std::numeric_limits<double>::quiet_NaN();
  }
}

} // namespace

StepResults::StepResults(ppopt_rank &rank)
    : rank(rank), theLoss(add(rank.places.at(rank.places.own.loss),
                              rank.program.lossType)) {
  if (rank.places.own.norm)
    norm = add(rank.places.at(*rank.places.own.norm), ElementType::f64);
  for (size_t i = 0; i < rank.program.counts.size(); ++i)
    counts.push_back(add(rank.places.at(rank.places.own.counts[i].address),
                         rank.program.counts[i].type));
  for (const PlaceMetric &metric : rank.places.own.metrics) {
    metricNumbers.push_back(
        {add(rank.places.at(metric.address), ElementType::f64), {}});
    if (metric.count)
      metricNumbers.back().count =
          add(rank.places.at(*metric.count), ElementType::f64);
  }
  for (const Action &action : rank.places.actions) {
    if (action.kind != ActionKind::run)
      continue;
    const Task &task = rank.program.tasks[action.task];
    if (task.kind != TaskKind::decide)
      continue;
    const PlaceMemory &memory = rank.places.memoryOf(action.place);
    DevicePointer state = memory.at(memory.place.stepState);
    decisions.push_back(
        {task.name, add(state + int64_t(offsetof(ppopt_step_state, hold)),
                        ElementType::f64)});
  }
}

StepResults::Number StepResults::add(DevicePointer data,
                                     ElementType type) const {
  char *view = rank.device->hostView(data);
  return {data, type, view ? view : rank.device->allocateHost(byteSize(type))};
}

void StepResults::copy(const Number &number) {
  if (number.host != rank.device->hostView(number.data))
    rank.device->copyOut(rank.compute, number.host, number.data,
                         byteSize(number.type));
}

void StepResults::enqueue() {
  copy(theLoss);
  if (norm)
    copy(*norm);
  for (const Number &count : counts)
    copy(count);
  for (const Decision &decision : decisions)
    copy(decision.hold);
}

void StepResults::enqueueMetrics() {
  for (const Metric &metric : metricNumbers) {
    copy(metric.sum);
    if (metric.count)
      copy(*metric.count);
  }
}

MetricSums StepResults::metrics() const {
  auto read = [](const Number &number) {
    return readNumber(number.host, number.type);
  };
  MetricSums sums;
  for (const Metric &metric : metricNumbers) {
    sums.values.push_back(read(metric.sum));
    sums.counts.push_back(metric.count ? read(*metric.count) : 1);
  }
  return sums;
}

double StepResults::loss() const {
  return readNumber(theLoss.host, theLoss.type);
}

double StepResults::gradNorm() const {
  return norm ? std::sqrt(readNumber(norm->host, norm->type))
              : std::numeric_limits<double>::quiet_NaN();
}

std::string StepResults::missing() const {
  for (size_t i = 0; i < counts.size(); ++i)
    if (readNumber(counts[i].host, counts[i].type) == 0)
      return fmt::format("the batch has none of: {} ({})",
                         rank.program.counts[i].name,
                         rank.program.counts[i].source);
  return "";
}

std::string StepResults::wrongDecision(bool holds) const {
  for (const Decision &decision : decisions) {
    double hold = readNumber(decision.hold.host, decision.hold.type);
    if (hold == (holds ? 1 : 0))
      continue;
    return fmt::format(
        "task {}, on stream 'compute', decided that updates {} (hold is {})",
        decision.task, hold == 0 ? "change parameters" : "change nothing",
        hold);
  }
  return "";
}

} // namespace ppopt::runtime
