//===- Generators.h - The families of built-in schedules ------------------===//

#ifndef PPOPT_LIB_SCHEDULE_GENERATORS_H
#define PPOPT_LIB_SCHEDULE_GENERATORS_H

#include "ppopt/Schedule/Table.h"

namespace ppopt::schedule {

/// What a list schedule prefers, and how many microbatches it lets in.
struct ListPolicy {
  /// A place runs all its forwards before its first backward (gpipe).
  bool flushes = false;
  /// The weight part fills the time in which neither an input part nor a
  /// forward may run (zb-h1).
  bool splitsBackward = false;
};

/// Any graph: each place runs, whenever it is free, the ready cell that the
/// policy puts first, in simulated time with unit costs.
Table generateList(const StageGraph &graph, int microbatches,
                   const ListPolicy &policy);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_GENERATORS_H
