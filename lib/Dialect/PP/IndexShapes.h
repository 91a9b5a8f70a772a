//===- IndexShapes.h - Checks of ops that work along a dimension ----------===//

#ifndef PPOPT_LIB_DIALECT_PP_INDEXSHAPES_H
#define PPOPT_LIB_DIALECT_PP_INDEXSHAPES_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

/// Verifies that `dim` is a dimension of `x`.
inline LogicalResult verifyDim(Operation *op, int64_t dim, Value x) {
  if (dim >= 0 && dim < static_cast<int64_t>(getShape(x).size()))
    return success();
  return op->emitOpError("dim ")
         << dim << " is no dimension of " << x.getType();
}

/// Returns whether shapes agree in all dimensions but `dim`.
inline bool agreeBeside(ArrayRef<int64_t> a, ArrayRef<int64_t> b, int64_t dim) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (static_cast<int64_t>(i) != dim && a[i] != b[i])
      return false;
  return true;
}

/// Returns a parallel loop for each dimension but `dim`, whose elements depend
/// on each other; all operands and results have the shape of the first.
IterationSpace alongSpace(Operation *op, int64_t dim);

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_INDEXSHAPES_H
