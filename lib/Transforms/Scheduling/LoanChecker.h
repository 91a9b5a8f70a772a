//===- LoanChecker.h - Checks transfers of borrowed buckets -----*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that borrowed parameters are read after their transfer, and that lent
/// parameters are sent before they are updated.
class LoanChecker {
public:
  explicit LoanChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  // Checks a transfer of a bucket's parameters.
  LogicalResult checkSend(SendOp send, const SlotUse &use);
  /// Starts a send: the parameters must not change until it is waited for.
  void start(SendOp send, const SlotUse &use);
  void finish(const SlotUse &use);
  void receive(const SlotUse &use);

private:
  CheckedTable table;
  /// Parameters that a transfer has brought.
  DenseSet<OnPlace> borrowed;
  /// Parameters that are being sent; parameters that a run has updated.
  DenseMap<OnPlace, Operation *> lending, updated;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H
