//===- library_matmul.h - A matmul by cuBLASLt ----------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H

#include "device/cuda/cublaslt_api.h"
#include "device/device.h"
#include "ppopt/column_major.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace ppopt::cuda {

/// The library's state on one GPU.
class Blas {
public:
  Blas();
  ~Blas();
  Blas(const Blas &) = delete;
  Blas &operator=(const Blas &) = delete;

  const CublasLtApi &api;
  BlasHandle handle = nullptr;

  /// "cuBLASLt 13.1.0"
  std::string describe() const;
};

/// One matmul of the program, prepared. Sums over k are added in the type that
/// products are added in, in an order that depends on nothing but the sizes,
/// the alignment of the operands, the library and the GPU: the same calls give
/// the same bits.
class LibraryMatmul {
public:
  /// Throws Error if the library can't compute it.
  LibraryMatmul(const Blas &blas, const device::MatmulSpec &spec);
  ~LibraryMatmul();
  LibraryMatmul(const LibraryMatmul &) = delete;
  LibraryMatmul &operator=(const LibraryMatmul &) = delete;

  void run(Stream stream, DeviceMemory a, DeviceMemory b, DeviceMemory c,
           DeviceMemory workspace);

private:
  /// Powers of two, in bytes.
  struct Alignment {
    uint32_t left, right, result;

    bool operator<(const Alignment &other) const;
  };

  MatrixLayout makeLayout(DataType type, const ColumnMajorMatrix &matrix) const;
  /// Returns the library's choice for operands of this alignment. Asks for it
  /// once.
  const MatmulAlgorithm &choose(const Alignment &alignment);
  std::string describe() const;

  const Blas &blas;
  const std::string name;
  const MatmulDescriptor descriptor;
  const int64_t workspaceBytes;
  ColumnMajorMatmul shape;
  MatmulDesc desc = nullptr;
  MatrixLayout left = nullptr, right = nullptr, result = nullptr;
  std::map<Alignment, MatmulAlgorithm> chosen;
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H
