//===- Sweeps.h - The form, space and sweeps of a kernel ------------------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_SWEEPS_H
#define PPOPT_LIB_CODEGEN_COMMON_SWEEPS_H

#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// The sweeps of a kernel of form rows: a reduction is computed in the first
/// sweep after those of the reductions that it reads.
class Sweeps {
public:
  explicit Sweeps(KernelOp kernel) : kernel(kernel) {}

  /// Returns the first sweep in which an element of `value`, of the kernel's
  /// body, can be computed.
  int64_t get(Value value);

  /// Sets the sweeps of the kernel's reductions and full results.
  void set();

private:
  KernelOp kernel;
  DenseMap<Value, int64_t> known;
};

/// Sets the form and the space of a kernel whose body is complete.
void setForm(KernelOp kernel, KernelForm kind);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_SWEEPS_H
