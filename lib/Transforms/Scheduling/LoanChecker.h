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
  /// Checks a copy of a bucket's parameters.
  LogicalResult checkSend(Operation *send, const StepCopy &copy);
  /// Starts a send: the parameters must not change until it is waited for.
  void start(Operation *send, const StepCopy &copy);
  void finish(const StepCopy &copy);
  void receive(const StepCopy &copy);

private:
  CheckedTable table;
  /// Parameters that a transfer has brought.
  DenseSet<OnPlace> borrowed;
  /// Parameters that are being sent; parameters that a run has updated.
  DenseMap<OnPlace, Operation *> lending, updated;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_LOANCHECKER_H
