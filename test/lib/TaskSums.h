//===- TaskSums.h - Sums of gradients inside tasks, for mutations ---------===//

#ifndef PPOPT_TEST_LIB_TASKSUMS_H
#define PPOPT_TEST_LIB_TASKSUMS_H

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// A reduce-scatter of a task of phase kernels, and the launch that adds its
/// result to the rank's chunk.
struct TaskSum {
  BeginOp begin;
  FinishOp finish;
  LaunchOp addition;
};

/// Returns those whose result is added as it is.
SmallVector<TaskSum> findTaskSums(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_TEST_LIB_TASKSUMS_H
