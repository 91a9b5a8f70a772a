//===- KernelForms.h - Checks of how kernels are computed -----------------===//

#ifndef PPOPT_DIALECT_PP_KERNELFORMS_H
#define PPOPT_DIALECT_PP_KERNELFORMS_H

#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Checks that no sweep of the kernel reads an argument that the launch has an
/// earlier sweep overwrite.
LogicalResult verifyInplace(LaunchOp launch, KernelOp kernel);

/// Checks that the buffers of a launch have the pitches that the kernel takes.
LogicalResult verifyPitches(LaunchOp launch, KernelOp kernel);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_KERNELFORMS_H
