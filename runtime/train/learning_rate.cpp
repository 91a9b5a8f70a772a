//===- learning_rate.cpp - The learning rate of a step --------------------===//

#include "train/learning_rate.h"

#include <cmath>

namespace ppopt::train {

double LearningRateSchedule::at(int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (shape == LearningRateShape::Constant || step >= steps)
    return shape == LearningRateShape::Constant ? peak : least;
  double done =
      static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  double share = shape == LearningRateShape::Linear
                     ? 1.0 - done
                     : 0.5 * (1.0 + std::cos(M_PI * done));
  return least + (peak - least) * share;
}

} // namespace ppopt::train
