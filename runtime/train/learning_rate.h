//===- learning_rate.h - The learning rate of a step ----------------------===//

#ifndef PPOPT_TRAIN_LEARNING_RATE_H
#define PPOPT_TRAIN_LEARNING_RATE_H

#include <cstdint>

namespace ppopt::train {

enum class LearningRateShape { Constant, Linear, Cosine };

/// Rises linearly to `peak` over `warmup` steps, then goes from `peak` towards
/// `least` over the rest of `steps`.
struct LearningRateSchedule {
  LearningRateShape shape = LearningRateShape::Constant;
  double peak = 0, least = 0;
  int64_t warmup = 0, steps = 0;

  /// Of step `step`, counted from 0. Step s of the warm-up has
  /// peak·(s+1)/warmup; afterwards t = (s-warmup)/(steps-warmup) and the rate
  /// is least + (peak-least)·(1-t) (linear) or least + (peak-least)·(1+cos
  /// πt)/2.
  double at(int64_t step) const;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_LEARNING_RATE_H
