//===- KernelOutliner.h - Kernels of a module, shared by launches ---------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
#define PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H

#include "Fusion.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Outlines clusters into kernels of a module; equal ones are one.
class KernelOutliner {
public:
  explicit KernelOutliner(ModuleOp module);

  /// The launch of a cluster, at `builder`. Results replace the uses of the
  /// cluster's values outside of it.
  LaunchOp outline(const Cluster &cluster, TaskFusion &fusion,
                   OpBuilder &builder);
  /// The launch of a kernel that copies `value`.
  LaunchOp outlineCopy(Value value, OpBuilder &builder);

private:
  StringRef share(KernelOp kernel, ArrayRef<int64_t> inplace);

  ModuleOp module;
  /// By how they print, without their names.
  llvm::StringMap<std::string> kernels;
  llvm::StringMap<unsigned> names;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
