//===- matmul_library.h - Algorithms of a device's matmuls ----------------===//
//
// A device whose matmuls are computed by a library that has several algorithms
// for each lets others choose among them. Without a choice it asks the
// library's heuristic.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_MATMUL_LIBRARY_H
#define PPOPT_RUNTIME_DEVICE_MATMUL_LIBRARY_H

#include "device/device.h"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ppopt::device {

/// An algorithm, as bytes that only the library reads. It is valid for one
/// version of the library, one model of a GPU, and one matmul.
using MatmulAlgorithm = std::array<uint8_t, 64>;

/// How the operands of a matmul lie in memory: the largest powers of two, in
/// bytes and up to `mostAlignment`, that divide the addresses that calls of the
/// library get for A, B and C.
struct MatmulAlignment {
  int64_t a = 1, b = 1, c = 1;

  bool operator<(const MatmulAlignment &other) const {
    return std::tie(a, b, c) < std::tie(other.a, other.b, other.c);
  }
};
inline constexpr int64_t mostAlignment = 256;

/// What algorithms, and measured times of them, are valid for.
struct MatmulMachine {
  std::string gpu; ///< the model
  int64_t multiprocessors = 0;
  std::string library; ///< with its version
};

class MatmulLibrary {
public:
  MatmulLibrary() = default;
  virtual ~MatmulLibrary() = default;
  MatmulLibrary(const MatmulLibrary &) = delete;
  MatmulLibrary &operator=(const MatmulLibrary &) = delete;

  virtual MatmulMachine machine() const = 0;

  // Matmuls are numbered as by Device::defineMatmul.

  /// Returns whether the library computes the matmul; else the program has a
  /// kernel for it.
  virtual bool computes(int matmul) const = 0;
  /// Returns the alignment of a call with operands at these addresses.
  virtual MatmulAlignment alignmentOf(int matmul, DevicePointer a,
                                      DevicePointer b,
                                      DevicePointer c) const = 0;
  /// Returns up to `most` algorithms, as the heuristic orders them. All fit the
  /// planned workspace and add in the type that products are added in. The
  /// first one is what is used without a choice. Throws Error if there is none.
  virtual std::vector<MatmulAlgorithm>
  algorithms(int matmul, const MatmulAlignment &alignment, int most) = 0;
  /// Uses this algorithm from now on for operands with this alignment. Throws
  /// Error if the library refuses it. Not while a graph is captured.
  virtual void use(int matmul, const MatmulAlignment &alignment,
                   const MatmulAlgorithm &algorithm) = 0;
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_MATMUL_LIBRARY_H
