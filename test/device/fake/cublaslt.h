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

/// Computes a matmul of memory that the host can access, in a wider type.
void compute(const MatmulShape &shape, double alpha, const char *a,
             const char *b, double beta, const char *c, char *d);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_CUBLASLT_H
