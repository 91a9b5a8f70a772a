//===- split_matmul.cpp - Matmuls of odd sizes, in parts ------------------===//

#include "device/cuda/split_matmul.h"

#include <algorithm>

namespace ppopt::cuda {
namespace {

/// What the library's fast algorithms load at once.
constexpr int64_t vectorBytes = 16;

/// An operand, and the sizes of its dimensions in the order of its strides.
struct Operand {
  const std::array<int64_t, 4> &strides;
  std::array<int64_t *, 4> sizes;
  int64_t vector; ///< the elements in 16 bytes
};

std::array<Operand, 3> operandsOf(MatmulDescriptor &matmul) {
  int64_t *b0 = &matmul.batch[0], *b1 = &matmul.batch[1];
  int64_t vector = vectorBytes / elementBytes(matmul.type);
  return {{{matmul.a, {b0, b1, &matmul.m, &matmul.k}, vector},
           {matmul.b, {b0, b1, &matmul.k, &matmul.n}, vector},
           {matmul.c,
            {b0, b1, &matmul.m, &matmul.n},
            vectorBytes / elementBytes(matmul.cType)}}};
}

/// Returns whether all rows begin at a multiple of 16 bytes if the first does.
bool isAligned(const Operand &operand) {
  for (size_t i = 0; i < operand.sizes.size(); ++i)
    if (*operand.sizes[i] > 1 && operand.strides[i] != 1 &&
        operand.strides[i] % operand.vector != 0)
      return false;
  return true;
}

/// Returns the largest size of a dimension, up to its own, that is a multiple
/// of 16 bytes in each operand in which it is contiguous.
int64_t alignedSize(const std::array<Operand, 3> &operands,
                    const int64_t *size) {
  int64_t vector = 1;
  for (const Operand &operand : operands)
    for (size_t i = 0; i < operand.sizes.size(); ++i)
      if (operand.sizes[i] == size && operand.strides[i] == 1)
        vector = std::max(vector, operand.vector);
  return *size / vector * vector;
}

} // namespace

std::vector<MatmulPart> splitMatmul(const MatmulDescriptor &matmul,
                                    int64_t fewestProducts) {
  std::vector<MatmulPart> parts;
  MatmulDescriptor main = canonicalMatmul(matmul);
  std::array<Operand, 3> operands = operandsOf(main);
  bool isSlow = matmul.type == MatmulType::bf16 &&
                std::all_of(operands.begin(), operands.end(), isAligned);
  for (int64_t *size : {&main.n, &main.m, &main.k}) {
    int64_t aligned = alignedSize(operands, size);
    if (size == &main.k && main.cType == main.type)
      continue;
    if (!isSlow || aligned == 0 || aligned == *size ||
        main.flops() / 2 < fewestProducts)
      continue;
    MatmulPart rest{main};
    if (size == &main.n) {
      rest.matmul.n -= aligned;
      rest.b = aligned * main.b[3], rest.c = aligned * main.c[3];
    } else if (size == &main.m) {
      rest.matmul.m -= aligned;
      rest.a = aligned * main.a[2], rest.c = aligned * main.c[2];
    } else {
      rest.matmul.k -= aligned;
      rest.a = aligned * main.a[3], rest.b = aligned * main.b[2];
      main.accumulate = true;
    }
    *size = aligned;
    parts.push_back(rest);
  }
  parts.push_back({main});
  return parts;
}

} // namespace ppopt::cuda
