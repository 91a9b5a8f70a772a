//===- Pitch.h - Buffers with padded rows ---------------------------------===//
//
// The columns of a tensor are its last dimension that is not 1, its rows are
// all dimensions before that. In a buffer with a pitch P, element [row, column]
// is number row * P + column; what lies between the rows, the padding, is never
// read or written. Without a pitch the rows are dense.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_PITCH_H
#define PPOPT_DIALECT_PP_PITCH_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::pp {

/// Elements from the begin of a row to that of the next; nothing: dense.
using Pitch = std::optional<int64_t>;

int64_t getColumnCount(ArrayRef<int64_t> shape);
int64_t getRowCount(ArrayRef<int64_t> shape);

/// Returns the strides of a row-major buffer.
SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape, Pitch pitch);

/// Returns the pitch of a buffer whose type has it in its strides.
Pitch getPitch(MemRefType type);

/// Returns the type of a buffer of a tensor.
MemRefType getBufferType(RankedTensorType tensor, Pitch pitch);

/// Returns the elements of a buffer, with the padding of each row.
int64_t countWithPadding(ArrayRef<int64_t> shape, Pitch pitch);

/// Returns the elements up to the last that is no padding.
int64_t countToLast(ArrayRef<int64_t> shape, Pitch pitch);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_PITCH_H
