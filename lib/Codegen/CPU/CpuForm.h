//===- CpuForm.h - How a CPU computes the kernels of a form ---------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_CPUFORM_H
#define PPOPT_LIB_CODEGEN_CPU_CPUFORM_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Codegen/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// One for each form, in the file that has its code (KernelForms.h).
/// `vectorBytes`: the width of the processor's vectors.
class CpuForm {
public:
  virtual ~CpuForm() = default;

  /// Sets what else is decided about a kernel, and returns its tiles.
  virtual TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const = 0;

  /// Reports tiles, of a kernel that has some, that `emit` can't follow.
  virtual LogicalResult check(KernelOp kernel, int64_t vectorBytes) const {
    return success();
  }

  /// Emits the code of tiles [begin, end). `buffers`: pointers for the kernel's
  /// arguments, then for its results.
  virtual void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                    int64_t vectorBytes, Value begin, Value end) const = 0;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_CPUFORM_H
