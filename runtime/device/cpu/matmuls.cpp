//===- matmuls.cpp - Validates matmuls and chooses implementations --------===//

#include "ppopt/matmul.h"

#include "device/cpu/loop_matmul.h"
#include "device/cpu/matmul.h"
#include "device/cpu/onednn_matmul.h"
#include "device/cpu/panel_matmul.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

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

/// Our panels and oneDNN use 32-bit sizes.
bool fits32Bits(const MatmulDescriptor &matmul) {
  auto fits = [](const auto &numbers) {
    return *std::max_element(std::begin(numbers), std::end(numbers)) <=
           INT32_MAX;
  };
  const int64_t sizes[] = {matmul.m, matmul.n, matmul.k};
  return fits(sizes) && fits(matmul.batch) && fits(matmul.a) &&
         fits(matmul.b) && fits(matmul.c);
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

namespace {

/// Returns an equivalent matmul in canonical form. Merges two batch dimensions
/// where they form one. Turns a batch of A with a single B into rows. Gives
/// dimensions of size 1, whose strides mean nothing, the strides of dense
/// matrices.
MatmulDescriptor canonical(MatmulDescriptor matmul) {
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

std::unique_ptr<MatmulImplementation>
implement(const MatmulDescriptor &matmul, int threads, size_t workspaceBytes) {
  if (std::string why = invalidMatmul(matmul); !why.empty())
    throw std::invalid_argument("matmul: " + why);
  MatmulDescriptor plain = canonical(matmul);
  if (!fits32Bits(plain))
    return makeLoopMatmul(plain, threads);
  if (auto panels = makePanelMatmul(plain, threads, workspaceBytes))
    return panels;
  if (auto library = makeOneDnnMatmul(plain, threads, workspaceBytes))
    return library;
  return makeLoopMatmul(plain, threads);
}

} // namespace

PreparedMatmul::PreparedMatmul(const MatmulDescriptor &matmul, int threads,
                               size_t workspaceBytes)
    : implementation(implement(matmul, threads, workspaceBytes)),
      flopCount(matmul.flops()) {}

size_t matmulWorkspaceBytes(const MatmulDescriptor &matmul, int threads) {
  return implement(matmul, threads, SIZE_MAX)->workspaceBytes();
}

std::string matmulImplementation(const MatmulDescriptor &matmul, int threads,
                                 size_t workspaceBytes) {
  return implement(matmul, threads, workspaceBytes)->name();
}

} // namespace ppopt
