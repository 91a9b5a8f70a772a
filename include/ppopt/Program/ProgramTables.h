//===- ProgramTables.h - The numbers of tasks, kernels, products ----------===//

#ifndef PPOPT_PROGRAM_PROGRAMTABLES_H
#define PPOPT_PROGRAM_PROGRAMTABLES_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// A matrix product as the runtime's table has it; equal ones share an entry.
struct ProductEntry {
  std::string name;
  ProductOp op; ///< the first of them
  unsigned launches = 0;
};

/// Numbers that generated code passes to the runtime, and that the program's
/// JSON lists in the same order. Both sides build them from the module of phase
/// kernels, so that they agree.
struct ProgramTables {
  explicit ProgramTables(ModuleOp module);

  SmallVector<TaskOp> tasks;
  SmallVector<KernelOp> kernels;
  SmallVector<ProductEntry> products;
  SmallVector<TransferOp> transfers;

  unsigned getTask(StringRef name) const { return taskIndex.lookup(name); }
  unsigned getKernel(StringRef name) const { return kernelIndex.lookup(name); }
  unsigned getProduct(ProductOp op) const { return productIndex.lookup(op); }
  unsigned getTransfer(StringRef name) const {
    return transferIndex.lookup(name);
  }

private:
  llvm::StringMap<unsigned> taskIndex, kernelIndex, transferIndex;
  DenseMap<Operation *, unsigned> productIndex;
};

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PROGRAMTABLES_H
