//===- TaskValues.h - What tasks hand to one another ------------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_TASKVALUES_H
#define PPOPT_DIALECT_PP_TASKVALUES_H

#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// Verifies that an op on a task, a call or a run, has the task's values as
/// operands and results.
LogicalResult verifyValues(Operation *op, TaskOp task, TypeRange operands,
                           TypeRange results);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_TASKVALUES_H
