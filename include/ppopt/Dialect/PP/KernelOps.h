//===- KernelOps.h - Kernels, matmuls and buffers ------------------------===//

#ifndef PPOPT_DIALECT_PP_KERNELOPS_H
#define PPOPT_DIALECT_PP_KERNELOPS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {
class ReduceOp;
} // namespace mlir::pp

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/KernelOps.h.inc"

#endif // PPOPT_DIALECT_PP_KERNELOPS_H
