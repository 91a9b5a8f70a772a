//===- CheckedTable.h - State shared by the checkers of a table -----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H

#include "ScheduleIndex.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// The table of one place, or of all places, and the index shared by all
/// tables. A checker is given the actions in their order, and then checks that
/// nothing is missing.
struct CheckedTable {
  ScheduleOp schedule;
  const ScheduleIndex &index;
};

/// A buffer of a place.
using OnPlace = std::pair<int64_t, BufferAttr>;

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
