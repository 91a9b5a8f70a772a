//===- split_matmul.h - Matmuls of odd sizes, in parts --------------------===//
//
// cuBLASLt computes a matmul in bf16 several times slower if a contiguous
// dimension is no multiple of 16 bytes, also where each row begins at one: the
// logits of a vocabulary of 50,257 at 94 TFLOP/s on an H100, those of 50,256
// at 650.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_SPLIT_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CUDA_SPLIT_MATMUL_H

#include "ppopt/matmul.h"

#include <cstdint>
#include <vector>

namespace ppopt::cuda {

/// A matmul that computes a part of another one, whose operands begin at these
/// elements of the other's.
struct MatmulPart {
  MatmulDescriptor matmul;
  int64_t a = 0, b = 0, c = 0;
};

/// A second call of some 12 µs is made up for from about this many products on.
inline constexpr int64_t fewestSplitProducts = int64_t(1) << 30;

/// Returns the parts of a valid matmul, in the order in which they are to be
/// computed. It is one part if it has fewer products than `fewestProducts`, if
/// rows begin at no multiples of 16 bytes, or if all sizes are multiples. The
/// last part is by far the largest, and has no offsets.
///
/// Of a sum, the last terms come first, and the others are added to them. What
/// they add up to is rounded to the type of C in between: an error of the size
/// of those that A and B, which are bf16, have brought.
std::vector<MatmulPart> splitMatmul(const MatmulDescriptor &matmul,
                                    int64_t fewestProducts);

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_SPLIT_MATMUL_H
