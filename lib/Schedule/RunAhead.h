//===- RunAhead.h - How many microbatches a stage may be ahead ------------===//

#ifndef PPOPT_LIB_SCHEDULE_RUNAHEAD_H
#define PPOPT_LIB_SCHEDULE_RUNAHEAD_H

#include "ppopt/Schedule/StageGraph.h"

namespace ppopt::schedule {

/// The least limits under which the last stage never waits; larger ones only
/// take more memory. On a chain both are the number of stages from a stage to
/// the end.
struct RunAhead {
  /// Forwards of a stage before its first backward, by stage. Gradients that do
  /// not come from the end return earlier.
  std::vector<int> ofBackward;
  /// Forwards of a stage before the first forward of the stages that read its
  /// output: a limit if no gradient returns that would set one.
  std::vector<int> ofReaders;
};

RunAhead getRunAhead(const StageGraph &graph);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_RUNAHEAD_H
