//===- Cost.h - How long ops take -----------------------------------------===//
//
// An estimate for the CPU target, from the ops' iteration spaces alone. The cut
// by cost, the simulated time of a schedule and `plan` use this one.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_COST_H
#define PPOPT_ANALYSIS_COST_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// What an op does on tensors.
struct Work {
  double flops = 0;    ///< of matmuls
  double elements = 0; ///< computed one by one, in all other ops
  double bytes = 0;    ///< read and written

  Work &operator+=(const Work &other);
  /// On one core, in nanoseconds.
  double getTime() const;
};

/// A value whose type is a ranked tensor.
int64_t getBytes(Value value);

/// An op worth computing again rather than saving or sending its result: one
/// result, each element of which costs a bounded number of operations. A
/// parameter is none.
bool isCheap(Operation *op);

/// A sum over a loop that two operands have in common: a matmul.
bool isMatmul(Operation *op);

/// An op that names elements of its operand, or is constant: its result costs
/// nothing wherever it is read.
bool isFree(Operation *op);

/// An op that decides something by floats: a comparison, a cast to an integer.
/// A rounding error of an operand may turn what it gives.
bool isDecision(Operation *op);

/// The work of an op in the phases placed to scheduled; none for an op that is
/// no loop nest, a parameter or a constant. A composition has the flops and
/// elements of what it decomposes into and the bytes of its own operands and
/// results. A value that one elementwise op hands to another is neither
/// written nor read: both are one kernel.
Work estimateWork(Operation *op);

/// The work of a launch: its bytes are those that it reads of its arguments and
/// writes of its results.
Work estimateKernelWork(KernelOp kernel);

/// FLOPs of the matmuls inside a kernel.
int64_t getMatmulFlops(KernelOp kernel);

/// In nanoseconds.
double estimateTime(Operation *op);

/// The work of the ops that the gradient adds for `op`, if the gradients of its
/// results that have uses are known and those of the operands in `needed` are
/// wanted.
Work estimateBackwardWork(Operation *op, ArrayRef<bool> needed);

/// The sum over a task's ops, of one run.
double estimateTaskTime(TaskOp task);

/// A transfer between two places, in nanoseconds.
double estimateTransferTime(int64_t bytes);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_COST_H
