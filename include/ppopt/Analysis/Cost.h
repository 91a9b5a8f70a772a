//===- Cost.h - Estimated times of ops ------------------------------------===//
//
// A cost estimate for the CPU target, from the ops' iteration spaces alone. The
// partitioning by cost, the simulated time of a schedule and `plan` use it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_COST_H
#define PPOPT_ANALYSIS_COST_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The work that an op does on tensors.
struct Work {
  double flops = 0;    ///< of matmuls
  double elements = 0; ///< computed one by one, in all other ops
  double bytes = 0;    ///< read and written

  Work &operator+=(const Work &other);
  /// On one core, in nanoseconds.
  double getTime() const;
};

/// Returns the bytes of a value whose type is a ranked tensor.
int64_t getBytes(Value value);

/// Returns whether an op is better recomputed than its result saved or sent: it
/// has one result, each element of which costs a bounded number of operations.
/// A parameter is not cheap.
bool isCheap(Operation *op);

/// Returns whether an op sums over a loop that two operands share: a matmul.
bool isMatmul(Operation *op);

/// Returns whether an op is a view of its operand or a constant: its result
/// costs nothing wherever it is read.
bool isFree(Operation *op);

/// Returns whether an op decides something by floats: a comparison, a cast to
/// an integer. A rounding error of an operand may change its result.
bool isDecision(Operation *op);

/// Returns the work of an op in the phases placed to scheduled; none for an op
/// without iteration space, a parameter or a constant. A composite has the
/// flops and elements of its decomposition and the bytes of its own operands
/// and results. A value between two elementwise ops is neither written nor
/// read: both are in one kernel.
Work estimateWork(Operation *op);

/// Returns the work of a launch: its bytes are those read from its arguments
/// and written to its results.
Work estimateKernelWork(KernelOp kernel);

/// Returns the FLOPs of the matmuls inside a kernel.
int64_t getMatmulFlops(KernelOp kernel);

/// Returns the time in nanoseconds.
double estimateTime(Operation *op);

/// Returns the work of the ops that autodiff adds for `op`, given the gradients
/// of its results that have uses, to compute those of the operands in `needed`.
Work estimateBackwardWork(Operation *op, ArrayRef<bool> needed);

/// Returns the time of one run of a task: the sum over its ops.
double estimateTaskTime(TaskOp task);

/// Returns the time of a transfer between two places, in nanoseconds.
double estimateTransferTime(int64_t bytes);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_COST_H
