//===- trainer_steps.h - The steps of trainers ----------------------------===//
//
// With asynchronous training, ranks tell rank 0 of each of their steps. A step
// of the run is complete when each part of its batch has been computed.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_TRAINER_STEPS_H
#define PPOPT_RUNTIME_OBSERVE_TRAINER_STEPS_H

#include "asynchronous/staleness.h"
#include "executor/executor.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

/// A step of a rank, as it lies in memory.
struct TrainerStep {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  int64_t ticket = -1; ///< -1: there is none
  double loss = unknown, norm = unknown, learningRate = 0;
  double seconds = 0;       ///< from one step's end to this one's
  double computed = 0;      ///< of these
  double waitedTicket = 0;  ///< for rank 0
  double waitedAnswers = 0; ///< for owners
  double held = 0;          ///< of these: until the bound allowed an answer
  asynchronous::Staleness staleness;
  int64_t launches = 0, flops = 0, bytesSent = 0;
  /// Why nothing was pushed; empty if it was. What is longer ends with "…".
  char skipped[512] = {};

  void setSkipped(const std::string &why) {
    size_t bytes = std::min(why.size(), sizeof skipped - 4);
    while (bytes < why.size() && (why[bytes] & 0xC0) == 0x80)
      --bytes; // not within a character
    std::string text = why.substr(0, bytes) + (bytes < why.size() ? "…" : "");
    std::memcpy(skipped, text.c_str(), text.size() + 1);
  }
};

/// Collects the steps of trainers into steps of the run.
class TrainerSteps {
public:
  TrainerSteps(int64_t trainers, int64_t first)
      : trainers(trainers), next(first) {}

  /// A step of the run.
  struct Whole {
    int64_t step = 0;
    double learningRate = 0;
    /// `loss`: the mean of those that are finite, NaN if none is. `gradNorm`:
    /// if there is one trainer. `skipped`: why some part updated nothing.
    /// Counts are those of one rank.
    runtime::StepResult result;
    asynchronous::Staleness staleness;
  };

  /// Adds the step of one rank of a trainer. Returns the steps that are
  /// complete now, in order.
  std::vector<Whole> add(const TrainerStep &step);

private:
  struct Open {
    int64_t parts = 0, losses = 0;
    double sum = 0;
    Whole whole;
  };
  const int64_t trainers;
  int64_t next;
  std::map<int64_t, Open> open;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_TRAINER_STEPS_H
