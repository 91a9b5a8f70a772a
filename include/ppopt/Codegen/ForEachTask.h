//===- ForEachTask.h - Works on the tasks of a module concurrently --------===//
//
// For passes that decide by something of the module, such as its schedules,
// what they do to each task. What follows from the task alone is a pass on
// pp.task.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_FOREACHTASK_H
#define PPOPT_CODEGEN_FOREACHTASK_H

#include "ppopt/Dialect/PP/ParallelOps.h"

#include "mlir/IR/Threading.h"

namespace mlir::pp {

/// Calls `function` for each task, for several at a time. It changes nothing
/// outside of its task. Fails if a call does.
inline LogicalResult
forEachTask(ModuleOp module,
            llvm::function_ref<LogicalResult(TaskOp)> function) {
  SmallVector<TaskOp> tasks(module.getOps<TaskOp>());
  return failableParallelForEach(module.getContext(), tasks, function);
}

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_FOREACHTASK_H
