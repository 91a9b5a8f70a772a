//===- starting_point.h - Where a run's parameters come from --------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_STARTING_POINT_H
#define PPOPT_RUNTIME_CHECKPOINT_STARTING_POINT_H

#include <string>
#include <vector>

namespace ppopt::train {

/// What the flags --init… say.
struct StartingPoint {
  /// Files and folders. Where several have a parameter, the last one counts.
  std::vector<std::string> paths;
  bool drawsMissing = false;             ///< parameters that no file has
  bool ignoresExtra = false;             ///< tensors that are no parameters
  std::string prefix = {};               ///< that names in the files begin with
  std::vector<std::string> resized = {}; ///< parameters that may have more rows
  bool averages = false; ///< of checkpoints, averages of parameters (--ema)
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_STARTING_POINT_H
