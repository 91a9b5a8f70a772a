//===- ProgramTables.h - The numbers of tasks, kernels, matmuls -----------===//

#ifndef PPOPT_PROGRAM_PROGRAMTABLES_H
#define PPOPT_PROGRAM_PROGRAMTABLES_H

#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// A matmul in the runtime's table; equal ones share an entry.
struct MatmulEntry {
  std::string name;
  GemmOp op; ///< the first of them
  unsigned launches = 0;
};

/// Numbers that generated code passes to the runtime, and that the program's
/// JSON lists in the same order. Both are built from the module of phase
/// kernels, so they agree.
struct ProgramTables {
  explicit ProgramTables(ModuleOp module);

  SmallVector<TaskOp> tasks;
  SmallVector<KernelOp> kernels;
  SmallVector<MatmulEntry> matmuls;
  StepCopies copies;
  /// The collectives of tasks, those of a task one after the other.
  SmallVector<std::pair<TaskOp, TaskCollectiveAttr>> collectives;

  unsigned getTask(StringRef name) const { return taskIndex.lookup(name); }
  unsigned getKernel(StringRef name) const { return kernelIndex.lookup(name); }
  unsigned getMatmul(GemmOp op) const { return matmulIndex.lookup(op); }
  /// Returns the index of collective `number` of a task.
  unsigned getCollective(TaskOp task, int64_t number) const {
    return firstCollective.lookup(task) + number;
  }
  /// Returns the index of a copy of the step among the transfers.
  unsigned getTransfer(int64_t copy) const { return copyIndex.lookup(copy); }

private:
  llvm::StringMap<unsigned> taskIndex, kernelIndex;
  DenseMap<int64_t, unsigned> copyIndex;
  DenseMap<Operation *, unsigned> matmulIndex, firstCollective;
};

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PROGRAMTABLES_H
