//===- Trace.h - A simulated step as a Perfetto trace ---------------------===//

#ifndef PPOPT_REPORT_TRACE_H
#define PPOPT_REPORT_TRACE_H

#include "ppopt/Schedule/Table.h"

#include <string>
#include <vector>

namespace ppopt::schedule {

struct TraceOptions {
  double nanosecondsPerUnit = 1; ///< of the timeline's times
  /// Names of StageGraph::edges as in docs/trace.md: "x0". Edges that are not
  /// transferred need none; without names an edge is "s0>s1", a gradient
  /// "s1>s0".
  std::vector<std::string> edgeNames;
};

/// Returns the JSON text of docs/trace.md, which the executable's --trace
/// writes too.
std::string writeTrace(const Timeline &timeline, const StageGraph &graph,
                       const TraceOptions &options);

} // namespace ppopt::schedule

#endif // PPOPT_REPORT_TRACE_H
