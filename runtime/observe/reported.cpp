//===- reported.cpp - The numbers that a step or an evaluation reports ----===//

#include "observe/reported.h"

#include <algorithm>

namespace ppopt::train {
namespace {

Reported makeNumber(const std::string &name, const char *shown) {
  Reported number;
  number.name = name;
  number.shown = shown;
  return number;
}

Reported lossOf() {
  Reported loss = makeNumber("loss", "{:.4f}");
  loss.hasBits = true;
  return loss;
}

void addMetrics(std::vector<Reported> &to, const runtime::Program &program) {
  for (const schema::Metric &metric : program.metrics) {
    to.push_back(makeNumber(metric.name, "{:.4f}"));
    to.back().isMetric = true;
  }
}

} // namespace

WorkUnit workUnitOf(const runtime::Program &program) {
  for (const runtime::Input &input : program.inputs)
    if (input.shape.size() == 2 && (input.type == runtime::ElementType::i32 ||
                                    input.type == runtime::ElementType::i64))
      return {"tok", input.shape[0] * input.shape[1]};
  return {"samples", program.plan.batch};
}

std::vector<Reported> numbersOfStep(const runtime::Program &program) {
  std::vector<Reported> numbers = {lossOf(), makeNumber("norm", "{:.3f}")};
  numbers.back().hasBits = true;
  addMetrics(numbers, program);
  numbers.push_back(makeNumber("lr", "{:.2e}"));
  numbers.push_back(makeNumber(
      std::string(workUnitOf(program).name) + "_per_second", nullptr));
  numbers.back().logged = "{:.1f}";
  return numbers;
}

std::vector<Reported> numbersOfEvaluation(const runtime::Program &program) {
  std::vector<Reported> numbers = {lossOf()};
  addMetrics(numbers, program);
  return numbers;
}

void setMetrics(std::vector<Reported> &numbers,
                const std::vector<double> &values) {
  size_t metric = 0;
  for (Reported &number : numbers)
    if (number.isMetric) {
      number.isKnown = metric < values.size();
      if (number.isKnown)
        number.value = values[metric++];
    }
}

Reported &numberOf(std::vector<Reported> &numbers, std::string_view name) {
  return *std::find_if(numbers.begin(), numbers.end(),
                       [&](const Reported &number) {
                         return number.name == name && !number.isMetric;
                       });
}

} // namespace ppopt::train
