//===- OtherEndsChecker.h - Checks waits of one process ---------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_OTHERENDSCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_OTHERENDSCHECKER_H

#include "CheckedTable.h"

#include <map>

namespace mlir::pp {

/// Checks that a wait of a local table comes after all ends of what it waits
/// for have been started: the thread that waits starts them too.
class OtherEndsChecker {
public:
  explicit OtherEndsChecker(CheckedTable table) : table(table) {}

  void start(StartOp start);
  LogicalResult check(WaitOp wait, StartOp start);

private:
  struct Collective {
    std::vector<int64_t> places; ///< that have an end
    SmallVector<int64_t> started;
  };

  CheckedTable table;
  /// By what it is of, and its kind.
  std::map<std::pair<const void *, ::ppopt::geometry::Collective>, Collective>
      collectives;
  DenseMap<Operation *, Collective *> ofStart;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_OTHERENDSCHECKER_H
