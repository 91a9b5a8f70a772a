//===- LoanChecker.h - Borrowed buckets come and go -------------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that parameters which a place borrows are read after their transfer,
/// and that parameters which it lends are sent before they are updated.
class LoanChecker {
public:
  explicit LoanChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  // Transfers of the parameters of a bucket:
  LogicalResult checkSend(Operation *send, const SlotUse &use);
  /// A send that is done later: until then the parameters stay.
  void start(SendOp send, const SlotUse &use);
  void finish(const SlotUse &use);
  void receive(const SlotUse &use);

private:
  CheckedTable table;
  /// Parameters that a transfer has brought.
  DenseSet<OnPlace> borrowed;
  /// Parameters that are being sent; that a run has updated.
  DenseMap<OnPlace, Operation *> lending, updated;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H
