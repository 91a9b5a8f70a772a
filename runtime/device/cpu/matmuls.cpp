//===- matmuls.cpp - Chooses implementations of matmuls -------------------===//

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

std::unique_ptr<MatmulImplementation>
implement(const MatmulDescriptor &matmul, int threads, size_t workspaceBytes) {
  if (std::string why = invalidMatmul(matmul); !why.empty())
    throw std::invalid_argument("matmul: " + why);
  MatmulDescriptor plain = canonicalMatmul(matmul);
  if (!fits32Bits(plain))
    return makeLoopMatmul(plain, threads);
  if (plain.type != MatmulType::bf16 || !multipliesBF16())
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
  size_t bytes = implement(matmul, threads, SIZE_MAX)->workspaceBytes();
  MatmulDescriptor plain = canonicalMatmul(matmul);
  // Machines differ in whether bf16 becomes panels.
  if (plain.type == MatmulType::bf16 && fits32Bits(plain))
    if (auto panels = makePanelMatmul(plain, threads, SIZE_MAX))
      bytes = std::max(bytes, panels->workspaceBytes());
  return bytes;
}

std::string matmulImplementation(const MatmulDescriptor &matmul, int threads,
                                 size_t workspaceBytes) {
  return implement(matmul, threads, workspaceBytes)->name();
}

} // namespace ppopt
