//===- KernelOutliner.h - Kernels of a module, shared by launches ---------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
#define PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H

#include "Fusion.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// A kernel that is in no module yet, and its launch.
struct OutlinedKernel {
  OwningOpRef<KernelOp> kernel; ///< has the name that it asks for
  LaunchOp launch;
  /// Equal kernels have equal keys, whatever their names.
  std::string key;
};

/// Outlines the clusters of one task into kernels. Changes nothing outside of
/// the task: tasks are outlined concurrently.
class KernelOutliner {
public:
  /// Creates the launch of a cluster, at `builder`. Its results replace uses of
  /// the cluster's values outside of it.
  LaunchOp outline(const Cluster &cluster, TaskFusion &fusion,
                   OpBuilder &builder);
  /// Creates the launch of a kernel that copies `value`.
  LaunchOp outlineCopy(Value value, OpBuilder &builder);
  /// Creates the launch of a kernel that writes each of `values` over one of
  /// the different values `over`, after it has read all of them at that index.
  LaunchOp outlineExchange(ArrayRef<Value> over, ArrayRef<Value> values,
                           OpBuilder &builder);
  /// Creates the launch of a kernel that writes zeros of a type.
  LaunchOp outlineZeros(Location loc, RankedTensorType type,
                        OpBuilder &builder);

  /// Returns what was outlined, in this order.
  MutableArrayRef<OutlinedKernel> getKernels() { return kernels; }

private:
  LaunchOp launchAlone(KernelOp kernel, StringRef name, ValueRange inputs,
                       OpBuilder &builder);
  LaunchOp launch(KernelOp kernel, StringRef name, Location loc,
                  ValueRange inputs, ArrayRef<int64_t> inplace,
                  OpBuilder &builder);

  SmallVector<OutlinedKernel, 0> kernels;
};

/// Adds kernels to a module, of equal ones the first, and names them.
class KernelSharing {
public:
  explicit KernelSharing(ModuleOp module);

  void add(OutlinedKernel &outlined);

private:
  ModuleOp module;
  llvm::StringMap<std::string> kernels; ///< names, by key
  llvm::StringMap<unsigned> names;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_KERNELOUTLINER_H
