//===- matmul.h - Matmuls: sizes, strides, workspace ----------------------===//
//
// What the compiler and the runtime share about matmuls. The static library
// `ppopt_matmul` implements it and depends only on oneDNN and OpenMP's
// runtime. So the compiler can query workspaces without linking the rest of the
// runtime.
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

/// Returns the bytes of one element.
constexpr int64_t elementBytes(MatmulType type) {
  return type == MatmulType::f64 ? 8 : type == MatmulType::f32 ? 4 : 2;
}

/// One entry of the program's "matmuls" (docs/program.md). Strides are in
/// elements, in the order (b0, b1, row, column). Row and column refer to the
/// operand as the formula above indexes it: a transposed A has strides {.., ..,
/// 1, m}. A stride of 0 broadcasts (A and B only). All sizes are at least 1.
/// C's column stride is 1, and no two elements of C alias.
struct MatmulDescriptor {
  MatmulType type = MatmulType::f32;  ///< type of A and B
  MatmulType cType = MatmulType::f32; ///< type of C: f32 (or bf16) if `type` is
                                      ///< bf16, else `type`
  bool accumulate = false;            ///< C += A·B
  int64_t m = 1, n = 1, k = 1;
  std::array<int64_t, 2> batch = {1, 1};
  std::array<int64_t, 4> a = {0, 0, 0, 1};
  std::array<int64_t, 4> b = {0, 0, 0, 1};
  std::array<int64_t, 4> c = {0, 0, 0, 1};

  /// Multiplications and additions: 2·b0·b1·m·n·k.
  int64_t flops() const { return 2 * batch[0] * batch[1] * m * n * k; }
};

/// Where a GPU's library is slow because a size is odd, a matmul with at least
/// this many products is computed in two parts. A second call of some 12 µs is
/// then made up for.
inline constexpr int64_t fewestSplitProducts = int64_t(1) << 30;

/// Returns an empty string if the descriptor satisfies the rules above, else
/// what is wrong with it.
std::string invalidMatmul(const MatmulDescriptor &matmul);

/// Returns an equivalent matmul in canonical form. Merges two batch dimensions
/// where they form one. Turns a batch of A with a single B into rows. Gives
/// dimensions of size 1, whose strides mean nothing, the strides of dense
/// matrices.
MatmulDescriptor canonicalMatmul(MatmulDescriptor matmul);

/// Returns the bytes of scratch memory (aligned to PPOPT_ALIGNMENT) that the
/// matmul needs on `threads` threads of this machine: the program's
/// "workspace". The same arguments on the same machine give the same result.
/// Throws std::invalid_argument with the text of `invalidMatmul`.
size_t matmulWorkspaceBytes(const MatmulDescriptor &matmul, int threads);

/// Describes how this machine computes the matmul, for reports: for example
/// "oneDNN brg:avx512_core", "oneDNN brg:avx512_core, looped over 12 batches",
/// "own loops". `workspaceBytes` is what the runtime gets.
std::string matmulImplementation(const MatmulDescriptor &matmul, int threads,
                                 size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_MATMUL_H
