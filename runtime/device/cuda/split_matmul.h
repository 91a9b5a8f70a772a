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

/// Returns the parts of a valid matmul, in the order in which they are to be
/// computed. It is one part if it has fewer products than `fewestProducts`, if
/// rows begin at no multiples of 16 bytes, or if all sizes are multiples. The
/// last part is by far the largest, and has no offsets.
///
/// A sum is split only if C has a wider type than A and B: between its parts it
/// would be rounded.
std::vector<MatmulPart> splitMatmul(const MatmulDescriptor &matmul,
                                    int64_t fewestProducts);

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_SPLIT_MATMUL_H
