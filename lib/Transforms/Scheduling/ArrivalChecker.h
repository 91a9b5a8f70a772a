//===- ArrivalChecker.h - Checks that memory is read after it is filled ---===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_ARRIVALCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_ARRIVALCHECKER_H

#include "CheckedTable.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Checks what each step fills anew: a place reads the parameters that it
/// borrows after their owner has sent them, before it updates them; and the
/// fields of the step state that the step decides after a run has computed
/// them.
class ArrivalChecker {
public:
  explicit ArrivalChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  /// Checks the sending of a bucket's parameters.
  LogicalResult checkSend(Operation *send, const StepCopy &copy);
  void receive(const StepCopy &copy) {
    arrived.insert({{copy.to, copy.getBuffer()}, ""});
  }

private:
  bool mustArrive(const MemoryUse &use, int64_t place);
  LogicalResult checkProposal(RunOp run, TaskOp task, OnPlace memory);

  CheckedTable table;
  DenseSet<std::pair<OnPlace, StringRef>> arrived; ///< with the field
  DenseMap<OnPlace, Operation *> updated;
  /// The microbatches that have proposed values of opened states.
  DenseMap<OnPlace, int64_t> proposals;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_ARRIVALCHECKER_H
