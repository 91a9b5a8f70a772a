//===- transposed.cpp - Transposes of matrices, in pieces -----------------===//

#include "device/transposed.h"

#include "device/host_access.h"

#include <algorithm>
#include <cstring>

namespace ppopt::device {
namespace {

/// Returns the first row whose element in this column is not before element
/// `at` of the matrix.
int64_t firstRow(const Matrix &matrix, int64_t at, int64_t column) {
  return std::max<int64_t>(0, at - column + matrix.columns - 1) /
         matrix.columns;
}

/// Calls `visit(column, row, end)` for the rows of each column that are among
/// `elements` of the matrix and among `transposed` of its transpose, in the
/// order of the transpose.
template <typename Visit>
void forEachColumn(const Matrix &matrix, Elements elements, Elements transposed,
                   const Visit &visit) {
  int64_t rows = matrix.rows;
  for (int64_t column = transposed.begin / rows; column * rows < transposed.end;
       ++column) {
    int64_t row = std::max(firstRow(matrix, elements.begin, column),
                           transposed.begin - column * rows);
    int64_t end = std::min({rows, firstRow(matrix, elements.end, column),
                            transposed.end - column * rows});
    if (row < end)
      visit(column, row, end);
  }
}

/// Writes those of the elements that `from` has, which are `present`, to their
/// places among all of them in the order of the transpose.
template <typename Element>
void pack(const Matrix &matrix, Elements elements, Elements transposed,
          Elements present, const char *from, char *to) {
  constexpr int64_t size = sizeof(Element);
  forEachColumn(
      matrix, elements, transposed,
      [&](int64_t column, int64_t row, int64_t end) {
        int64_t begin = std::max(row, firstRow(matrix, present.begin, column));
        int64_t last = std::min(end, firstRow(matrix, present.end, column));
        for (int64_t i = begin; i < last; ++i)
          std::memcpy(to + (i - row) * size,
                      from +
                          (i * matrix.columns + column - present.begin) * size,
                      size);
        to += (end - row) * size;
      });
}

void packElements(const Matrix &matrix, Elements elements, Elements transposed,
                  Elements present, const char *from, char *to) {
  auto *packOf = matrix.elementBytes == 8   ? pack<uint64_t>
                 : matrix.elementBytes == 4 ? pack<uint32_t>
                 : matrix.elementBytes == 2 ? pack<uint16_t>
                                            : pack<uint8_t>;
  packOf(matrix, elements, transposed, present, from, to);
}

} // namespace

void writeTransposed(Device &device, Stream stream, DevicePointer to,
                     Elements elements, const char *from,
                     const Matrix &matrix) {
  int64_t size = matrix.elementBytes;
  Elements all{0, matrix.rows * matrix.columns};
  writePieces(device, stream, to, (elements.end - elements.begin) * size,
              [&](char *data, int64_t offset, int64_t bytes) {
                int64_t begin = elements.begin + offset / size;
                packElements(matrix, all, {begin, begin + bytes / size}, all,
                             from, data);
              });
}

int64_t TransposedPieces::count() const {
  return (matrix.bytes() + pieceBytes - 1) / pieceBytes;
}

int64_t TransposedPieces::bytes(int64_t piece) const {
  return std::min(pieceBytes, matrix.bytes() - piece * pieceBytes);
}

Elements TransposedPieces::elementsOf(int64_t piece) const {
  int64_t begin = piece * pieceBytes / matrix.elementBytes;
  return {begin, begin + bytes(piece) / matrix.elementBytes};
}

int64_t TransposedPieces::bytesOf(Elements elements, int64_t piece) const {
  int64_t count = 0;
  forEachColumn(matrix, elements, elementsOf(piece),
                [&](int64_t, int64_t row, int64_t end) { count += end - row; });
  return count * matrix.elementBytes;
}

void TransposedPieces::read(Device &device, Stream stream, DevicePointer from,
                            Elements elements, int64_t piece, char *to) const {
  int64_t size = matrix.elementBytes;
  readPieces(device, stream, from, (elements.end - elements.begin) * size,
             [&](const char *data, int64_t offset, int64_t bytes) {
               int64_t begin = elements.begin + offset / size;
               packElements(matrix, elements, elementsOf(piece),
                            {begin, begin + bytes / size}, data, to);
             });
}

void TransposedPieces::place(const char *from, Elements elements, int64_t piece,
                             char *to) const {
  int64_t size = matrix.elementBytes;
  Elements own = elementsOf(piece);
  forEachColumn(matrix, elements, own,
                [&](int64_t column, int64_t row, int64_t end) {
                  int64_t at = column * matrix.rows + row - own.begin;
                  std::memcpy(to + at * size, from, (end - row) * size);
                  from += (end - row) * size;
                });
}

} // namespace ppopt::device
