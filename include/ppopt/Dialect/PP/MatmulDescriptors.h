//===- MatmulDescriptors.h - Matmuls as libraries see them ----------------===//

#ifndef PPOPT_DIALECT_PP_MATMULDESCRIPTORS_H
#define PPOPT_DIALECT_PP_MATMULDESCRIPTORS_H

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/matmul.h"

namespace mlir::pp {

/// Returns the library's type of a matmul's operand or result, whose elements
/// are floating-point numbers.
::ppopt::MatmulType getMatmulType(Type type);

::ppopt::MatmulDescriptor describeMatmul(GemmOp op);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_MATMULDESCRIPTORS_H
