//===- KernelOutliner.h - Kernels of a module, shared by launches ---------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
#define PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H

#include "Fusion.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Outlines clusters into kernels of a module; equal kernels are shared.
class KernelOutliner {
public:
  explicit KernelOutliner(ModuleOp module);

  /// Creates the launch of a cluster, at `builder`. Its results replace uses of
  /// the cluster's values outside of it.
  LaunchOp outline(const Cluster &cluster, TaskFusion &fusion,
                   OpBuilder &builder);
  /// Creates the launch of a kernel that copies `value`.
  LaunchOp outlineCopy(Value value, OpBuilder &builder);
  /// Creates the launch of a kernel that writes zeros of a type.
  LaunchOp outlineZeros(Location loc, RankedTensorType type,
                        OpBuilder &builder);

private:
  LaunchOp launchAlone(KernelOp kernel, ValueRange inputs, OpBuilder &builder);
  StringRef share(KernelOp kernel, ArrayRef<int64_t> inplace);

  ModuleOp module;
  /// Keyed by their printed form without names.
  llvm::StringMap<std::string> kernels;
  llvm::StringMap<unsigned> names;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
