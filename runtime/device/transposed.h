//===- transposed.h - Transposes of matrices, in pieces -------------------===//
//
// For parameters that files keep transposed.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_TRANSPOSED_H
#define PPOPT_RUNTIME_DEVICE_TRANSPOSED_H

#include "device/device.h"
#include "geometry/tile.h"

#include <cstdint>

namespace ppopt::device {

/// A row-major matrix, before it is transposed.
struct Matrix {
  int64_t rows, columns, elementBytes;

  int64_t bytes() const { return rows * columns * elementBytes; }
};

/// Copies elements of the transpose of the matrix at `from`, which may be
/// unaligned.
void copyTransposed(char *to, const geometry::TilePart &elements,
                    const char *from, const Matrix &matrix);

/// The same to a device. Complete on return.
void writeTransposed(Device &device, Stream stream, DevicePointer to,
                     const geometry::TilePart &elements, const char *from,
                     const Matrix &matrix);

/// The transpose of a matrix, in pieces. Those elements of a part of the matrix
/// that belong to a piece are passed on in the order of the part, without gaps.
/// So a piece can be put together from parts of the matrix.
class TransposedPieces {
public:
  explicit TransposedPieces(const Matrix &matrix) : matrix(matrix) {}

  /// Each has pieceBytes, except the last.
  int64_t count() const;
  int64_t bytes(int64_t piece) const;
  /// Returns the bytes of a piece that elements of the matrix have.
  int64_t bytesOf(const geometry::TilePart &elements, int64_t piece) const;

  /// Writes those to `to`. The elements are at `from` on a device. Runs after
  /// what was enqueued on `stream`. Where the host can't access the memory, it
  /// copies all of these elements: a piece has elements of all rows.
  void read(Device &device, Stream stream, DevicePointer from,
            const geometry::TilePart &elements, int64_t piece, char *to) const;
  /// Puts the bytes that `read` has written where they belong in the piece
  /// `to`.
  void place(const char *from, const geometry::TilePart &elements,
             int64_t piece, char *to) const;

private:
  Matrix matrix;
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_TRANSPOSED_H
