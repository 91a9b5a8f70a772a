//===- matmuls.h - matmuls: sizes, strides, workspace ---------------------===//
//
// What the compiler and the runtime both know of a matmul. The static
// library `ppopt_matmul` that implements it depends on oneDNN and OpenMP's
// runtime only, so that the compiler can ask for workspaces without linking the
// rest of the runtime.
//
//   C[b0,b1,m,n] (+)= sum over k of A[b0,b1,m,k] * B[b0,b1,k,n]
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_MATMUL_H
#define PPOPT_MATMUL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ppopt {

/// Element types that a matmul computes with.
enum class MatmulType { f32, f64, bf16 };

/// One entry of the program's "matmuls" (docs/program.md). Strides are in
/// elements, in the order (b0, b1, row, column); row and column are those of
/// the operand as it stands in the formula above, so that a transposed A has
/// strides {.., .., 1, m}. A stride of 0 broadcasts (A and B only). All sizes
/// are at least 1. C's column stride is 1 and no two elements of C coincide.
struct MatmulDescriptor {
  MatmulType type = MatmulType::f32;  ///< of A and B
  MatmulType cType = MatmulType::f32; ///< of C: f32 (or bf16) where `type` is
                                      ///< bf16, else the same as `type`
  bool accumulate = false;            ///< C += A·B
  int64_t m = 1, n = 1, k = 1;
  std::array<int64_t, 2> batch = {1, 1};
  std::array<int64_t, 4> a = {0, 0, 0, 1};
  std::array<int64_t, 4> b = {0, 0, 0, 1};
  std::array<int64_t, 4> c = {0, 0, 0, 1};

  /// Multiplications and additions: 2·b0·b1·m·n·k.
  int64_t flops() const { return 2 * batch[0] * batch[1] * m * n * k; }
};

/// Empty if the descriptor is one that the formula and the notes above allow,
/// else what is wrong with it.
std::string invalidMatmul(const MatmulDescriptor &matmul);

/// Bytes of scratch memory (aligned to PPOPT_ALIGNMENT) that the matmul wants
/// when `threads` threads compute it on this machine; the program's
/// "workspace". The same arguments on the same machine give the same answer.
/// Throws std::invalid_argument with the text of `invalidMatmul`.
size_t matmulWorkspaceBytes(const MatmulDescriptor &matmul, int threads);

/// How the matmul is computed on this machine, for reports: for example
/// "oneDNN brg:avx512_core", "oneDNN brg:avx512_core, looped over 12 batches",
/// "own loops". `workspaceBytes` as given to the runtime.
std::string matmulImplementation(const MatmulDescriptor &matmul, int threads,
                                 size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_MATMUL_H
