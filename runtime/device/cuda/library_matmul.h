//===- library_matmul.h - A matmul by cuBLASLt ----------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H

#include "device/cuda/cublaslt_api.h"
#include "device/cuda/split_matmul.h"
#include "device/matmul_library.h"
#include "ppopt/column_major.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ppopt::cuda {

/// The library's state on one GPU.
class Blas {
public:
  /// Throws MissingDevice if there is no library, and Error if none starts.
  Blas();
  ~Blas();
  Blas(const Blas &) = delete;
  Blas &operator=(const Blas &) = delete;

  BlasHandle handle = nullptr;
  /// Why it is not the version of the library that is preferred; else empty.
  std::string fallback;
  const CublasLtApi &api;

  /// "cuBLASLt 13.1.0"
  std::string describe() const;

private:
  const CublasLtApi &open();
};

/// One call of the library, prepared, or several for batches of two dimensions.
class LibraryCall {
public:
  /// `title` is for errors. Throws Error if the library can't compute it.
  LibraryCall(const Blas &blas, const MatmulDescriptor &descriptor,
              int64_t workspaceBytes, std::string title);
  ~LibraryCall();
  LibraryCall(const LibraryCall &) = delete;
  LibraryCall &operator=(const LibraryCall &) = delete;

  void run(Stream stream, DeviceMemory a, DeviceMemory b, DeviceMemory c,
           DeviceMemory workspace);

  // As in device::MatmulLibrary.
  device::MatmulAlignment alignmentOf(DeviceMemory a, DeviceMemory b,
                                      DeviceMemory c) const;
  std::vector<MatmulAlgorithm>
  algorithms(const device::MatmulAlignment &alignment, int most) const;
  void use(const device::MatmulAlignment &alignment,
           const MatmulAlgorithm &algorithm);

private:
  MatrixLayout makeLayout(DataType type, const ColumnMajorMatrix &matrix) const;
  /// Returns the library's choice for operands of this alignment. Asks for it
  /// once.
  const MatmulAlgorithm &choose(const device::MatmulAlignment &alignment);

  const Blas &blas;
  const MatmulDescriptor descriptor;
  const int64_t workspaceBytes;
  const std::string title;
  ColumnMajorMatmul shape;
  MatmulDesc desc = nullptr;
  MatrixLayout left = nullptr, right = nullptr, result = nullptr;
  std::map<device::MatmulAlignment, MatmulAlgorithm> chosen;
};

/// One matmul of the program, prepared, in one part or several. Sums over k are
/// added in the type that products are added in, in an order that depends on
/// nothing but the sizes, the alignment of the operands, the library and the
/// GPU, or on the algorithm that was chosen: the same calls give the same bits.
class LibraryMatmul {
public:
  /// Throws Error if the library can't compute it.
  LibraryMatmul(const Blas &blas, const device::MatmulSpec &spec);

  void run(Stream stream, DeviceMemory a, DeviceMemory b, DeviceMemory c,
           DeviceMemory workspace);

  /// The part whose algorithm others choose. Its operands begin where those of
  /// the whole matmul do.
  LibraryCall &largest() { return *calls.back(); }
  const LibraryCall &largest() const { return *calls.back(); }

private:
  std::vector<MatmulPart> parts;
  std::vector<std::unique_ptr<LibraryCall>> calls; ///< of each part
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_MATMUL_H
