//===- TransferChecker.h - Checks starts and waits of transfers -----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_TRANSFERCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_TRANSFERCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that each end of a transfer starts on its place, once per microbatch,
/// or once if the transfer is of the step; and that everything that is started,
/// transfer or collective, has an id of its own and is waited for once, in the
/// table or by carried waits of the next. In a local table both ends of a
/// transfer start.
class TransferChecker {
public:
  explicit TransferChecker(CheckedTable table) : table(table) {}

  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(StartOp start);
  /// Returns the action that is waited for.
  FailureOr<Operation *> check(WaitOp wait);
  LogicalResult checkAllAreDone();
  LogicalResult checkComplete();

private:
  using Ends = DenseMap<OnMicrobatch, Operation *>;
  template <typename OpT> LogicalResult checkId(OpT action);
  template <typename OpT>
  LogicalResult checkEnd(OpT end, Ends &ends, StringRef verb);
  template <typename OpT>
  LogicalResult checkOnce(OpT end, Ends &ends, StringRef verb);
  FailureOr<Operation *> checkCarried(WaitOp wait);
  LogicalResult checkAll(TransferOp transfer, const Ends &ends, StringRef verb);
  int64_t count(TransferOp transfer) const {
    return transfer.getStep() ? 1 : table.index.microbatches;
  }

  CheckedTable table;
  Ends sent, received;
  DenseMap<int64_t, Operation *> started; ///< by id, until it is waited for
  DenseSet<int64_t> ids, carried;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_TRANSFERCHECKER_H
