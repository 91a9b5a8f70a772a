//===- CheckedTable.h - State shared by the checkers of a table -----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H

#include "ScheduleIndex.h"

namespace mlir::pp {

/// The table of one place, or of all places, and the index shared by all
/// tables. A checker is given the actions in their order, and then checks that
/// nothing is missing.
struct CheckedTable {
  ScheduleOp schedule;
  const ScheduleIndex &index;
};

/// A bucket, or another value that is summed over ranks, on a place.
using OnPlace = std::pair<int64_t, Attribute>;

/// Return the symbol of the bucket whose range a role names, or that a copy is
/// of.
inline Attribute getBucket(RoleAttr role) {
  return FlatSymbolRefAttr::get(role.getContext(), role.getName());
}

inline Attribute getBucket(const StepCopy &copy) {
  BucketOp bucket = copy.bucket;
  return FlatSymbolRefAttr::get(bucket.getSymNameAttr());
}

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_CHECKEDTABLE_H
