//===- transposed.cpp - Transposes of matrices, in pieces -----------------===//

#include "device/transposed.h"

#include "device/host_access.h"

#include <algorithm>
#include <cstring>

namespace ppopt::device {
namespace {

using geometry::TilePart;

/// Calls `visit(row, column, end, offset)` for columns [column, end) of rows of
/// a matrix, where `columns` are in a row: those in the part, in order. The
/// first of them is the part's element at `offset`.
template <typename Visit>
void forEachRow(int64_t columns, const TilePart &elements, const Visit &visit) {
  elements.forEachRun([&](int64_t global, int64_t offset, int64_t count) {
    for (int64_t end = global + count; global < end;) {
      int64_t column = global % columns;
      int64_t next = std::min(columns, column + end - global);
      visit(global / columns, column, next, offset);
      global += next - column;
      offset += next - column;
    }
  });
}

/// Calls it with those that are in a piece of the transpose too.
template <typename Visit>
void forEachRow(const Matrix &matrix, const TilePart &elements, int64_t piece,
                const Visit &visit) {
  int64_t perPiece = pieceBytes / matrix.elementBytes;
  // Returns the first column whose element in the row is not before element
  // `at` of the transpose.
  auto firstColumn = [&](int64_t at, int64_t row) {
    return std::max<int64_t>(0, at - row + matrix.rows - 1) / matrix.rows;
  };
  forEachRow(matrix.columns, elements,
             [&](int64_t row, int64_t column, int64_t end, int64_t offset) {
               int64_t first =
                   std::max(column, firstColumn(piece * perPiece, row));
               int64_t last =
                   std::min(end, firstColumn((piece + 1) * perPiece, row));
               if (first < last)
                 visit(row, first, last, offset + first - column);
             });
}

/// Copies elements from and to places that are so many elements apart.
template <int64_t size>
void copyEach(char *to, int64_t toStep, const char *from, int64_t fromStep,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStep * size, from + i * fromStep * size, size);
}

void copyApart(int64_t elementBytes, char *to, int64_t toStep, const char *from,
               int64_t fromStep, int64_t count) {
  auto *copy = elementBytes == 8   ? copyEach<8>
               : elementBytes == 4 ? copyEach<4>
               : elementBytes == 2 ? copyEach<2>
                                   : copyEach<1>;
  copy(to, toStep, from, fromStep, count);
}

} // namespace

void copyTransposed(char *to, const TilePart &elements, const char *from,
                    const Matrix &matrix) {
  int64_t size = matrix.elementBytes;
  forEachRow(/*columns=*/matrix.rows, elements,
             [&](int64_t row, int64_t column, int64_t end, int64_t offset) {
               copyApart(size, to + offset * size, 1,
                         from + (column * matrix.columns + row) * size,
                         matrix.columns, end - column);
             });
}

void writeTransposed(Device &device, Stream stream, DevicePointer to,
                     const TilePart &elements, const char *from,
                     const Matrix &matrix) {
  int64_t size = matrix.elementBytes;
  writePieces(device, stream, to, elements.count() * size,
              [&](char *data, int64_t at, int64_t bytes) {
                copyTransposed(data, elements.slice(at / size, bytes / size),
                               from, matrix);
              });
}

int64_t TransposedPieces::count() const {
  return (matrix.bytes() + pieceBytes - 1) / pieceBytes;
}

int64_t TransposedPieces::bytes(int64_t piece) const {
  return std::min(pieceBytes, matrix.bytes() - piece * pieceBytes);
}

int64_t TransposedPieces::bytesOf(const TilePart &elements,
                                  int64_t piece) const {
  int64_t count = 0;
  forEachRow(matrix, elements, piece,
             [&](int64_t, int64_t column, int64_t end, int64_t) {
               count += end - column;
             });
  return count * matrix.elementBytes;
}

void TransposedPieces::read(Device &device, Stream stream, DevicePointer from,
                            const TilePart &elements, int64_t piece,
                            char *to) const {
  int64_t size = matrix.elementBytes;
  readPieces(device, stream, from, elements.count() * size,
             [&](const char *data, int64_t at, int64_t bytes) {
               forEachRow(
                   matrix, elements.slice(at / size, bytes / size), piece,
                   [&](int64_t, int64_t column, int64_t end, int64_t offset) {
                     int64_t length = (end - column) * size;
                     std::memcpy(to, data + offset * size, length);
                     to += length;
                   });
             });
}

void TransposedPieces::place(const char *from, const TilePart &elements,
                             int64_t piece, char *to) const {
  int64_t size = matrix.elementBytes, begin = piece * (pieceBytes / size);
  forEachRow(matrix, elements, piece,
             [&](int64_t row, int64_t column, int64_t end, int64_t) {
               copyApart(size, to + (column * matrix.rows + row - begin) * size,
                         matrix.rows, from, 1, end - column);
               from += (end - column) * size;
             });
}

} // namespace ppopt::device
