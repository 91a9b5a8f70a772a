//===- matmul_descriptor.cpp - Rules and forms of matmuls -----------------===//

#include "ppopt/column_major.h"
#include "ppopt/matmul.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ppopt {

namespace {

/// Returns whether the computations below cannot overflow. Sizes and strides
/// may be any numbers.
bool isCountable(const MatmulDescriptor &matmul) {
  constexpr int64_t most = int64_t(1) << 60;
  int64_t flops = 2;
  for (int64_t size :
       {matmul.batch[0], matmul.batch[1], matmul.m, matmul.n, matmul.k})
    if (__builtin_mul_overflow(flops, size, &flops))
      return false;
  auto reaches = [&](const std::array<int64_t, 4> &strides, int64_t rows,
                     int64_t columns) {
    const int64_t sizes[] = {matmul.batch[0], matmul.batch[1], rows, columns};
    for (int i = 0; i < 4; ++i)
      if (strides[i] > most / sizes[i])
        return false;
    return true;
  };
  return reaches(matmul.a, matmul.m, matmul.k) &&
         reaches(matmul.b, matmul.k, matmul.n) &&
         reaches(matmul.c, matmul.m, matmul.n);
}

} // namespace

std::string invalidMatmul(const MatmulDescriptor &matmul) {
  const int64_t &b0 = matmul.batch[0], &b1 = matmul.batch[1];
  for (int64_t size : {matmul.m, matmul.n, matmul.k, b0, b1})
    if (size < 1)
      return "a size is less than 1";
  bool types =
      matmul.cType == matmul.type ||
      (matmul.type == MatmulType::bf16 && matmul.cType == MatmulType::f32);
  if (!types)
    return "C must have the type of A and B, or f32 where they are bf16";
  for (const auto *strides : {&matmul.a, &matmul.b, &matmul.c})
    for (int64_t stride : *strides)
      if (stride < 0)
        return "a stride is negative";
  if (!isCountable(matmul))
    return "sizes and strides are too large";
  if (matmul.n > 1 && matmul.c[3] != 1)
    return "C's column stride is not 1";

  // No two elements of C alias: in the order of strides, each dimension steps
  // over all smaller ones.
  std::array<std::pair<int64_t, int64_t>, 4> dims = {{{matmul.c[0], b0},
                                                      {matmul.c[1], b1},
                                                      {matmul.c[2], matmul.m},
                                                      {matmul.c[3], matmul.n}}};
  std::sort(dims.begin(), dims.end());
  int64_t span = 1;
  for (const auto &[stride, size] : dims)
    if (size > 1) {
      if (stride < span)
        return "elements of C coincide";
      span = stride * (size - 1) + span;
    }
  return "";
}

MatmulDescriptor canonicalMatmul(MatmulDescriptor matmul) {
  int64_t &b0 = matmul.batch[0], &b1 = matmul.batch[1];
  auto contiguous = [&](const std::array<int64_t, 4> &strides) {
    return strides[0] == strides[1] * b1;
  };
  auto dropOuter = [&] {
    for (auto *strides : {&matmul.a, &matmul.b, &matmul.c})
      (*strides)[0] = 0;
    b0 = 1;
  };
  auto swapBatches = [&] {
    std::swap(b0, b1);
    for (auto *strides : {&matmul.a, &matmul.b, &matmul.c})
      std::swap((*strides)[0], (*strides)[1]);
  };
  if (b1 == 1)
    swapBatches(); // now b0 has size 1
  if (b0 > 1 && contiguous(matmul.a) && contiguous(matmul.b) &&
      contiguous(matmul.c)) {
    b1 *= b0;
    dropOuter();
  }

  if (matmul.m == 1)
    matmul.a[2] = matmul.a[1], matmul.c[2] = matmul.c[1];
  auto rowsOf = [&](const std::array<int64_t, 4> &strides) {
    return matmul.m == 1 || strides[1] == strides[2] * matmul.m;
  };
  if (b1 > 1 && matmul.b[1] == 0 && matmul.a[1] != 0 && rowsOf(matmul.a) &&
      rowsOf(matmul.c)) {
    matmul.m *= b1;
    b1 = 1;
    for (auto *strides : {&matmul.a, &matmul.b, &matmul.c})
      (*strides)[1] = 0;
    if (b0 > 1)
      swapBatches();
  }

  auto plain = [](std::array<int64_t, 4> &strides, int64_t rows,
                  int64_t columns) {
    if (columns == 1)
      strides[3] = 1;
    if (rows == 1)
      strides[2] = strides[3] == 1 ? columns : 1;
  };
  plain(matmul.a, matmul.m, matmul.k);
  plain(matmul.b, matmul.k, matmul.n);
  plain(matmul.c, matmul.m, matmul.n);
  return matmul;
}

namespace {

/// Returns the transpose of a row-major matrix; nullopt if neither its rows nor
/// its columns are contiguous.
std::optional<ColumnMajorMatrix>
transpose(int64_t rows, int64_t columns, const std::array<int64_t, 4> &strides,
          int batched, bool loops) {
  ColumnMajorMatrix matrix;
  matrix.batchStride = strides[batched];
  matrix.outerStride = loops ? strides[1 - batched] : 0;
  if (strides[3] == 1 && strides[2] >= columns) {
    matrix.rows = columns, matrix.columns = rows, matrix.leading = strides[2];
    return matrix;
  }
  if (strides[2] == 1 && strides[3] >= rows) {
    matrix.transposed = true;
    matrix.rows = rows, matrix.columns = columns, matrix.leading = strides[3];
    return matrix;
  }
  return std::nullopt;
}

} // namespace

std::optional<ColumnMajorMatmul> asColumnMajor(const MatmulDescriptor &matmul) {
  MatmulDescriptor plain = canonicalMatmul(matmul);
  auto [outer, inner] = plain.batch;
  // A call has the products along the longer one.
  int batched = inner >= outer ? 1 : 0;
  bool loops = plain.batch[1 - batched] > 1;
  auto a = transpose(plain.m, plain.k, plain.a, batched, loops);
  auto b = transpose(plain.k, plain.n, plain.b, batched, loops);
  auto c = transpose(plain.m, plain.n, plain.c, batched, loops);
  if (!a || !b || !c || c->transposed)
    return std::nullopt;
  return ColumnMajorMatmul{*b, *a, *c, plain.batch[batched],
                           plain.batch[1 - batched]};
}

} // namespace ppopt
