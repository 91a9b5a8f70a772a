//===- planted_race.cpp - Two threads on one object of the runtime --------===//
//
// The race is in runtime/executor/step_trace.cpp: it is seen only if the
// runtime is instrumented.
//
//===----------------------------------------------------------------------===//

#include "executor/step_trace.h"

#include <thread>

int main() {
  ppopt::runtime::StepTrace trace({}, {}, /*steps=*/2);
  auto walk = [&] {
    for (int i = 1; i <= 1000; ++i)
      trace.beginStep(i);
  };
  std::thread other(walk);
  walk();
  other.join();
  return 0;
}
