//===- Pebble.h - A timeline as text --------------------------------------===//

#ifndef PPOPT_REPORT_PEBBLE_H
#define PPOPT_REPORT_PEBBLE_H

#include "ppopt/Schedule/Table.h"

#include <string>

namespace ppopt::schedule {

struct PebbleOptions {
  /// Columns, labels included. A wider timeline is scaled; equal cells stay
  /// equal as long as each has two columns.
  int width = 100;
  /// Scale of the timeline's times; 0: they have no unit.
  double nanosecondsPerUnit = 1;
};

/// Returns the pebble graph: time to the right, places down, one row per stage
/// of a place, below it the place's transfers; then the legend. Plain ASCII.
///
///   place 0  F0F1F2......B0--F3......B1--  idle 38.1 %
///            >>>>>>          >>
std::string drawPebbles(const Timeline &timeline, const StageGraph &graph,
                        const PebbleOptions &options);

} // namespace ppopt::schedule

#endif // PPOPT_REPORT_PEBBLE_H
