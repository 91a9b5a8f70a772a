//===- transposed.h - Transposes of matrices, in pieces -------------------===//
//
// For parameters that files keep transposed.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_TRANSPOSED_H
#define PPOPT_RUNTIME_DEVICE_TRANSPOSED_H

#include "device/device.h"

#include <functional>

namespace ppopt::device {

/// A row-major matrix, before it is transposed.
struct Matrix {
  int64_t rows, columns, elementBytes;

  int64_t bytes() const { return rows * columns * elementBytes; }
};

/// Writes the transpose of the matrix at `from`, which may be unaligned.
/// Complete on return.
void writeTransposed(Device &device, Stream stream, DevicePointer to,
                     const char *from, const Matrix &matrix);

/// Calls `use` for the pieces of the transpose of the matrix at `from`, in
/// order, each of pieceBytes except the last. Runs after what was enqueued on
/// `stream`. Where the host can't access the memory, it copies all of the
/// matrix once per piece, and keeps two pieces: a piece of the transpose has
/// elements of all rows.
void readTransposed(
    Device &device, Stream stream, DevicePointer from, const Matrix &matrix,
    const std::function<void(const char *data, int64_t bytes)> &use);

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_TRANSPOSED_H
