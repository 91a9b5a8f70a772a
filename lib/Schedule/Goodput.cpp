//===- Goodput.cpp - Failures and slow ranks, and what they cost ----------===//

#include "ppopt/Schedule/Goodput.h"

#include "Waits.h"

#include <algorithm>
#include <cmath>

using namespace ppopt::schedule;

/// Halves the interval until it is as narrow as numbers are. `isBelow` holds at
/// `low`, and not at `high`.
template <typename IsBelow>
static double bisect(double low, double high, IsBelow isBelow) {
  while (true) {
    double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high)
      return middle;
    (isBelow(middle) ? low : high) = middle;
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps", Future Generation Computer Systems 22 (2006). With a mean
// time M between failures, a restart of R and a checkpoint of C, work of length
// T and its checkpoint take, with all failures meanwhile,
//
//   M e^(R/M) (e^((T+C)/M) - 1)
//
// on average. The paper approximates the T with the least time per work; here
// its equation is solved as it is.

double ppopt::schedule::getUsefulShare(const Failures &failures,
                                       double interval) {
  double mean = failures.meanTime;
  return interval / (mean * std::exp(failures.restart / mean) *
                     std::expm1((interval + failures.checkpoint) / mean));
}

/// The derivative of the share is zero where (1 - x) e^(x + C/M) = 1, with
/// x = T/M between 0 and 1.
double ppopt::schedule::findBestInterval(const Failures &failures) {
  double checkpoint = failures.checkpoint / failures.meanTime;
  return failures.meanTime * bisect(0, 1, [&](double x) {
           return std::log1p(-x) + x + checkpoint > 0;
         });
}

/// The share rises up to the best interval and falls from there on.
CheckpointInterval ppopt::schedule::findBestInterval(const Failures &failures,
                                                     double step) {
  double below = std::max(1.0, std::floor(findBestInterval(failures) / step));
  CheckpointInterval best{below, getUsefulShare(failures, below * step)};
  double share = getUsefulShare(failures, (below + 1) * step);
  return share > best.usefulShare ? CheckpointInterval{below + 1, share} : best;
}

double ppopt::schedule::findMeanTime(Failures failures, double step,
                                     double usefulShare) {
  auto isTooShort = [&](double mean) {
    failures.meanTime = mean;
    return findBestInterval(failures, step).usefulShare < usefulShare;
  };
  double high = step;
  while (isTooShort(high))
    high *= 2;
  return bisect(0, high, isTooShort);
}

//===----------------------------------------------------------------------===//
// Slow ranks
//===----------------------------------------------------------------------===//

StageGraph ppopt::schedule::slowDown(StageGraph graph, const SlowPlace &slow) {
  for (Stage &stage : graph.stages) {
    double more = slow.getFactor(stage.place) - 1;
    // The time of a full backward is the sum of its halves.
    double inHalf = getWaited(stage, Work::Backward) / 2;
    stage.forwardTime +=
        more * (stage.forwardTime - getWaited(stage, Work::Forward));
    stage.inputTime += more * (stage.inputTime -
                               getWaited(stage, Work::BackwardInput) - inHalf);
    stage.weightTime +=
        more *
        (stage.weightTime - getWaited(stage, Work::BackwardWeight) - inHalf);
  }
  return graph;
}

double SlowTrainer::getRate() const {
  // With a bound, each trainer's step ends up waiting for one of the slow one.
  if (bound)
    return trainers / slowStep;
  return (trainers - 1) / step + 1 / slowStep;
}

/// Step t of the others begins at t·step, or when the slow trainer has made its
/// steps up to t - bound - 1, at (t - bound)·slowStep.
std::optional<int64_t> SlowTrainer::getFirstWait() const {
  if (!bound || slowStep <= step || trainers == 1)
    return std::nullopt;
  double equal = static_cast<double>(*bound) * slowStep / (slowStep - step);
  if (equal >= 0x1p62) // no run is so long
    return std::nullopt;
  return static_cast<int64_t>(std::floor(equal)) + 1;
}
