//===- learning_rate.h - The learning rate of a step ----------------------===//

#ifndef PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H
#define PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H

#include <cstdint>

namespace ppopt::train {

enum class LearningRateShape { Constant, Linear, Cosine, Wsd, InverseSqrt };
inline constexpr const char *learningRateShapes[] = {
    "constant", "linear", "cosine", "wsd", "inverse-sqrt"};

/// A rate that rises linearly to `peak` over `warmup` steps and then falls to
/// `least`: at the last of `steps` steps, or with InverseSqrt whenever it is
/// there.
struct LearningRateSchedule {
  LearningRateShape shape = LearningRateShape::Constant;
  double peak = 0, least = 0;
  int64_t warmup = 0, steps = 0;
  int64_t decaySteps = 0; ///< of Wsd (warm-up, stable, decay): at the end

  /// Returns the rate of step `step`, counted from 0. In step s of the warm-up
  /// it is peak·(s+1)/warmup, so its last step h = max(warmup-1, 0) has the
  /// peak. After that, with t = (s-h)/(steps-1-h), it is
  /// least + (peak-least)·(1-t) (linear) or
  /// least + (peak-least)·(1+cos πt)/2 (cosine). If h is the last step, that
  /// step has the peak. Wsd is linear with h = max(h, steps-1-decaySteps), and
  /// has the peak before. InverseSqrt is max(least, peak·√(warmup/(s+1))).
  double at(int64_t step) const;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OPTIONS_LEARNING_RATE_H
