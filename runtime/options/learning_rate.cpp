//===- learning_rate.cpp - The learning rate of a step --------------------===//

#include "options/learning_rate.h"

#include <algorithm>
#include <cmath>

namespace ppopt::train {

double LearningRateSchedule::at(int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  int64_t highest = std::max<int64_t>(warmup - 1, 0), last = steps - 1;
  if (shape == LearningRateShape::Wsd)
    highest = std::max(highest, last - decaySteps);
  if (shape == LearningRateShape::Constant || step <= highest)
    return peak;
  if (shape == LearningRateShape::InverseSqrt)
    return std::max(least, peak * std::sqrt(static_cast<double>(warmup) /
                                            static_cast<double>(step + 1)));
  if (step >= last)
    return least;
  double done =
      static_cast<double>(step - highest) / static_cast<double>(last - highest);
  double share = shape == LearningRateShape::Cosine
                     ? 0.5 * (1.0 + std::cos(M_PI * done))
                     : 1.0 - done;
  return least + (peak - least) * share;
}

} // namespace ppopt::train
