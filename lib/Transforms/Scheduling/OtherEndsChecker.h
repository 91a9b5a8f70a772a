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

  void start(SendOp send) { startTransfer(send); }
  void start(RecvOp recv) { startTransfer(recv); }
  void start(StartOp start);
  /// Checks the wait for what `start` started.
  LogicalResult check(WaitOp wait, Operation *start);

private:
  /// A transfer on a microbatch, or what a collective is of and its kind.
  using Key = std::pair<const void *, int64_t>;
  struct Communication {
    SmallVector<int64_t> places; ///< that have an end
    SmallVector<int64_t> started;
  };
  template <typename OpT> void startTransfer(OpT end);
  void start(Operation *end, int64_t place, Key key, ArrayRef<int64_t> places);

  CheckedTable table;
  std::map<Key, Communication> communications;
  DenseMap<Operation *, Communication *> ofStart;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_OTHERENDSCHECKER_H
