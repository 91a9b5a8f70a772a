//===- plan_flags.h - The flags of a plan ---------------------------------===//

#ifndef PPOPT_TOOLS_PLAN_FLAGS_H
#define PPOPT_TOOLS_PLAN_FLAGS_H

#include "command_line.h"

#include "ppopt/Search/PlanSpace.h"

namespace ppopt {

/// The flags that `compile` and `plan` share, and the plan that they make.
class PlanFlags {
public:
  explicit PlanFlags(CommandLine &line);

  /// Completes the plan of the parsed command line, for the model that it
  /// names. If flags contradict each other, reports an error and returns the
  /// exit status.
  std::optional<int> complete();

  mlir::pp::PlanOptions plan;
  /// The plans that --plan auto chooses among, with `plan` as their base.
  std::optional<mlir::pp::PlanSpace> space;
  bool isStrict = false; ///< --werror

private:
  std::string setSchedule();
  std::string setSpace();
  void limitMemory();
  void warnOfBF16(bool isNative) const;

  CommandLine &line;
  std::string schedule = "1f1b", device, cluster;
  std::optional<int64_t> ranks, mostCompiled;
  geometry::Mesh kept;
  bool isAuto = false;
};

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_FLAGS_H
