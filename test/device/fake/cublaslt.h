//===- cublaslt.h - What the fake cuBLASLt knows --------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_CUBLASLT_H
#define PPOPT_TEST_DEVICE_FAKE_CUBLASLT_H

#include "device/cuda/cublaslt_api.h"
#include "fake/machine.h"

namespace ppopt::cuda::fake {

struct FakeBlas {
  FakeContext *context = nullptr;
};

struct FakeMatmulDesc {
  ComputeType compute = ComputeType::f32;
  DataType scale = DataType::f32;
  Transpose a = Transpose::no, b = Transpose::no;
};

/// A matrix by columns.
struct FakeLayout {
  DataType type = DataType::f32;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batch = 1;
  int64_t batchStride = 0;
};

struct FakePreference {
  uint64_t maxWorkspaceBytes = 0;
  uint32_t reductionSchemes = ~0u;
  uint32_t alignments[4] = {256, 256, 256, 256}; ///< of A, B, C and D
};

/// A matmul as its descriptors say: D = alpha op(A) op(B) + beta C.
struct MatmulShape {
  FakeMatmulDesc desc;
  FakeLayout a, b, c, d;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return desc.a == Transpose::no ? a.columns : a.rows; }
  /// Returns what is wrong, or an empty string.
  std::string findError() const;
  /// Differs for other matmuls.
  uint64_t fingerprint() const;
};

uint64_t byteSize(DataType type);

/// Returns the bytes from the first element of the first matrix to the last of
/// the last.
uint64_t extent(const FakeLayout &layout);

/// The library's algorithms, as its heuristic orders them. All add products in
/// a wider type. `split` needs a workspace and exists where k is long; `halves`
/// and `quarters` add over parts of k, and round these sums to the type that
/// NVIDIA's add in.
enum class Algorithm : uint32_t { split, plain, halves, quarters };

inline const char *nameOf(Algorithm algorithm) {
  constexpr const char *names[matmulAlgorithms] = {"split", "plain", "halves",
                                                   "quarters"};
  return names[size_t(algorithm)];
}

/// Computes a matmul of memory that the host can access. A sum has `parts`.
void compute(const MatmulShape &shape, int parts, double alpha, const char *a,
             const char *b, double beta, const char *c, char *d);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_CUBLASLT_H
