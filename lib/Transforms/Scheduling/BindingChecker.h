//===- BindingChecker.h - Checks where operands are bound -------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that each run has the addresses of its task's operands that are no
/// values: those that the buckets and declarations give them, inside of their
/// buffers.
class BindingChecker {
public:
  explicit BindingChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);

private:
  LogicalResult checkAddress(RunOp run, unsigned number,
                             const TaskOperand &operand);

  CheckedTable table;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_BINDINGCHECKER_H
