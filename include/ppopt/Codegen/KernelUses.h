//===- KernelUses.h - How launches use the buffers of a kernel ------------===//

#ifndef PPOPT_CODEGEN_KERNELUSES_H
#define PPOPT_CODEGEN_KERNELUSES_H

#include "ppopt/Dialect/PP/KernelOps.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::pp {

/// What all launches of a kernel have in common.
struct KernelUse {
  /// For each result, the argument that it overwrites, or -1.
  SmallVector<int64_t> inplace;
  /// The bytes that divide the addresses of all buffers that launches give it:
  /// of arguments, then of results.
  SmallVector<int64_t> alignments;
};

/// Returns a power of two that divides the address of a buffer of a task. Rows
/// of inputs begin anywhere: microbatches follow one another, and rows may have
/// any number of bytes. Scalars lie one after the other.
int64_t getAddressAlignment(Value buffer);

/// Returns the kernels of a module of phase kernels, in its order. A kernel
/// without launches overwrites nothing. Launches that overwrite other arguments
/// than an earlier one are an error.
FailureOr<SmallVector<std::pair<KernelOp, KernelUse>>>
findKernelUses(ModuleOp module);

/// Reports caches that are not written in place: emitters copy none.
LogicalResult checkOverwritten(KernelOp kernel, ArrayRef<int64_t> inplace);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_KERNELUSES_H
