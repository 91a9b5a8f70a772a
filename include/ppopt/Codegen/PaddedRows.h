//===- PaddedRows.h - Values of tasks whose buffers have a pitch ----------===//
//
// Before buffers are assigned, the attribute `pp.pitch` of a launch or matmul
// says which of its results have padded rows (0: dense).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_PADDEDROWS_H
#define PPOPT_CODEGEN_PADDEDROWS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Sets the pitch of a result of a launch or matmul.
void setPitch(OpResult result, Pitch pitch);

/// Returns the pitch of the buffer in which a value of a task lies. Looks
/// through what keeps rows, and through results in place.
Pitch getPitch(Value value);

/// Returns whether an op is a reshape that keeps rows: the columns are the
/// same.
bool keepsRows(Operation *op);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_PADDEDROWS_H
