//===- Gathers.h - Gathers inside tasks of phase kernels, for mutations ---===//

#ifndef PPOPT_TEST_LIB_GATHERS_H
#define PPOPT_TEST_LIB_GATHERS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// A gather of a task on buffers.
struct TaskGather {
  BeginOp begin;
  FinishOp finish;
  SmallVector<Operation *> readers; ///< in order
  ReleaseOp release;                ///< null if there is none
};

/// Returns those of a task, in the order of their starts.
SmallVector<TaskGather> findGathers(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_TEST_LIB_GATHERS_H
