//===- transposed.cpp - Transposes of matrices, in pieces -----------------===//

#include "device/transposed.h"

#include "device/host_access.h"

#include <algorithm>
#include <cstring>

namespace ppopt::device {
namespace {

/// Elements [begin, end) of a matrix or of its transpose.
template <typename Byte> struct Part {
  Byte *data;
  int64_t begin, end;

  Part(Byte *data, int64_t offset, int64_t bytes, int64_t elementBytes)
      : data(data), begin(offset / elementBytes),
        end((offset + bytes) / elementBytes) {}
};

/// Copies what both have: a part of the matrix and a part of its transpose.
template <typename Element>
void copyTransposed(const Matrix &matrix, Part<const char> from,
                    Part<char> to) {
  constexpr int64_t size = sizeof(Element);
  auto [rows, columns, elementBytes] = matrix;
  /// Returns the first row whose element in this column is not before `at`.
  auto firstRow = [columns = columns](int64_t at, int64_t column) {
    return std::max<int64_t>(0, at - column + columns - 1) / columns;
  };
  for (int64_t column = to.begin / rows; column * rows < to.end; ++column) {
    int64_t row =
        std::max(firstRow(from.begin, column), to.begin - column * rows);
    int64_t end =
        std::min({rows, firstRow(from.end, column), to.end - column * rows});
    for (; row < end; ++row)
      std::memcpy(to.data + (column * rows + row - to.begin) * size,
                  from.data + (row * columns + column - from.begin) * size,
                  size);
  }
}

void copyTransposed(const Matrix &matrix, Part<const char> from,
                    Part<char> to) {
  auto *copy = matrix.elementBytes == 8   ? copyTransposed<uint64_t>
               : matrix.elementBytes == 4 ? copyTransposed<uint32_t>
               : matrix.elementBytes == 2 ? copyTransposed<uint16_t>
                                          : copyTransposed<uint8_t>;
  copy(matrix, from, to);
}

} // namespace

void writeTransposed(Device &device, Stream stream, DevicePointer to,
                     const char *from, const Matrix &matrix) {
  int64_t size = matrix.elementBytes;
  writePieces(device, stream, to, matrix.bytes(),
              [&](char *data, int64_t offset, int64_t bytes) {
                copyTransposed(matrix, {from, 0, matrix.bytes(), size},
                               {data, offset, bytes, size});
              });
}

void readTransposed(
    Device &device, Stream stream, DevicePointer from, const Matrix &matrix,
    const std::function<void(const char *data, int64_t bytes)> &use) {
  int64_t size = matrix.elementBytes, all = matrix.bytes();
  std::vector<char> piece(std::min(all, pieceBytes));
  for (int64_t begin = 0; begin < all; begin += pieceBytes) {
    int64_t count = std::min(pieceBytes, all - begin);
    readPieces(device, stream, from, all,
               [&](const char *data, int64_t offset, int64_t bytes) {
                 copyTransposed(matrix, {data, offset, bytes, size},
                                {piece.data(), begin, count, size});
               });
    use(piece.data(), count);
  }
}

} // namespace ppopt::device
