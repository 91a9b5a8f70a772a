//===- BuildShape.h - Parts of tensors ------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDSHAPE_H
#define PPOPT_LIB_IMPORT_BUILDSHAPE_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// `count` elements, each `step`-th from `begin` on along one dimension.
Value sliceStep(Emitter &emit, Value x, int64_t dim, int64_t begin,
                int64_t count, int64_t step);

/// x with the elements of `part` on the diagonal that a call of diagonal or
/// diagonal_scatter names.
Value replaceDiagonal(OpCall &call, Emitter &emit, Value x, Value part);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDSHAPE_H
