//===- BindingChecker.h - Checks where operands are bound -------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that runs bind each operand to where its value is: a saved or
/// received value to a slot; everything else to the address that the buckets
/// and declarations give it, inside of its buffer. The same for transfers.
class BindingChecker {
public:
  explicit BindingChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  /// Checks an end of a transfer.
  LogicalResult check(Operation *end, const SlotUse &use);

private:
  LogicalResult checkAddress(RunOp run, unsigned number,
                             const TaskOperand &operand);

  CheckedTable table;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H
