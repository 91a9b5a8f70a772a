//===- CudaForm.h - How a GPU computes the kernels of a form --------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_CUDAFORM_H
#define PPOPT_LIB_CODEGEN_CUDA_CUDAFORM_H

#include "DeviceModules.h"

#include "ppopt/Codegen/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

inline constexpr int64_t kMostThreads = 1024;

/// One for each form, in the file that has its code (KernelForms.h).
class CudaForm {
public:
  virtual ~CudaForm() = default;

  /// Sets tiles and threads, and what else is decided about a kernel.
  virtual LogicalResult plan(KernelOp kernel) const = 0;

  /// Reports what `emit` can't follow of a kernel that has tiles and threads.
  virtual LogicalResult check(KernelOp kernel) const { return success(); }

  /// Returns the threads that registers of a multiprocessor must suffice for.
  virtual int64_t getResidentThreads() const { return kResidentThreads; }

  /// Emits what one thread computes of its tile. `buffers`: pointers for the
  /// kernel's arguments, then for its results.
  virtual void emit(OpBuilder &builder, KernelOp kernel,
                    ValueRange buffers) const = 0;
};

/// Sets tiles and threads, which share no memory but what code declares.
void setTiles(KernelOp kernel, int64_t tiles, int64_t size, TileUnit unit,
              int64_t threads, int64_t perRow, int64_t each, int64_t block = 0);

/// Returns the threads of a block, of which `work` suffice; `times` as many as
/// usual.
int64_t countThreads(KernelOp kernel, int64_t work, int64_t times = 1);

/// Returns the most neighbouring elements that a thread takes.
int64_t getMostEach(KernelOp kernel);

/// Returns the neighbouring elements that a thread takes: a power of two that
/// divides the row, so that vectors are aligned and none is part of two rows.
int64_t countEach(KernelOp kernel, int64_t columns);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_CUDAFORM_H
