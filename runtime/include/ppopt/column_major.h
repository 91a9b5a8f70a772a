//===- column_major.h - A matmul in column-major matrices -----------------===//
//
// cuBLASLt's matrices are column-major, and ours row-major: C = A·B is computed
// as Cᵀ = Bᵀ·Aᵀ, whose operands lie in memory as they are. Shared by the
// compiler, which refuses a matmul that the library can't compute, and the
// runtime, which calls it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COLUMN_MAJOR_H
#define PPOPT_COLUMN_MAJOR_H

#include "ppopt/matmul.h"

#include <cstdint>
#include <optional>

namespace ppopt {

/// A column-major matrix in memory, before it is transposed. All in elements.
struct ColumnMajorMatrix {
  bool transposed = false;
  int64_t rows = 1, columns = 1, leading = 1;
  int64_t batchStride = 0; ///< between the matrices of one call
  int64_t outerStride = 0; ///< between calls
};

/// result = left · right, in `outer` calls of `batch` products. `left` is B of
/// the descriptor, and `right` is A.
struct ColumnMajorMatmul {
  ColumnMajorMatrix left, right, result;
  int64_t batch = 1, outer = 1;
};

/// Returns nullopt if an operand has neither contiguous rows nor contiguous
/// columns. The matmul is valid.
std::optional<ColumnMajorMatmul> asColumnMajor(const MatmulDescriptor &matmul);

} // namespace ppopt

#endif // PPOPT_COLUMN_MAJOR_H
