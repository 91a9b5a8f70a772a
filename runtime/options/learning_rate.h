//===- learning_rate.h - The learning rate of a step ----------------------===//

#ifndef PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H
#define PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H

#include <cstdint>

namespace ppopt::train {

enum class LearningRateShape { Constant, Linear, Cosine };

/// Rises linearly to `peak` over `warmup` steps, then falls to `least`, which
/// the last of `steps` has.
struct LearningRateSchedule {
  LearningRateShape shape = LearningRateShape::Constant;
  double peak = 0, least = 0;
  int64_t warmup = 0, steps = 0;

  /// Of step `step`, counted from 0. Step s of the warm-up has
  /// peak·(s+1)/warmup, so that its last step h = max(warmup-1, 0) has the
  /// peak. Afterwards t = (s-h)/(steps-1-h) and the rate is least +
  /// (peak-least)·(1-t) (linear) or least + (peak-least)·(1+cos πt)/2. If h is
  /// the last step, that has the peak.
  double at(int64_t step) const;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H
