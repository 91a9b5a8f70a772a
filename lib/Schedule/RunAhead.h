//===- RunAhead.h - How many microbatches a stage may be ahead ------------===//

#ifndef PPOPT_LIB_SCHEDULE_RUNAHEAD_H
#define PPOPT_LIB_SCHEDULE_RUNAHEAD_H

#include "ppopt/Schedule/StageGraph.h"

namespace ppopt::schedule {

/// As far as is needed for the last stage never to wait; nothing but memory
/// grows with more. On a chain both are the number of stages from a stage to
/// the end.
struct RunAhead {
  /// Forwards of a stage before its first backward, by stage. Where gradients
  /// do not come from all the way down they are back earlier.
  std::vector<int> ofBackward;
  /// Forwards of a stage before the first forward of those that read its
  /// output: a limit where no gradient comes back that would set one.
  std::vector<int> ofReaders;
};

RunAhead getRunAhead(const StageGraph &graph);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_RUNAHEAD_H
