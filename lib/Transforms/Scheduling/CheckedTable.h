//===- CheckedTable.h - What the checkers of a table share ------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H

#include "ScheduleIndex.h"

namespace mlir::pp {

/// The table of one place, or of all, and what is looked up for all tables. A
/// checker is told the actions in their order, and then to check that nothing
/// is missing.
struct CheckedTable {
  ScheduleOp schedule;
  const ScheduleIndex &index;
};

/// A task or a transfer on a microbatch.
using OnMicrobatch = std::pair<Operation *, int64_t>;
/// A bucket, or something else that is summed over ranks, on a place.
using OnPlace = std::pair<int64_t, Attribute>;

/// The symbol of the bucket whose range a role names.
inline Attribute getBucket(RoleAttr role) {
  return FlatSymbolRefAttr::get(role.getContext(), role.getName());
}

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
