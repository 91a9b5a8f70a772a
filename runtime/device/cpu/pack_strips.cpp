//===- pack_strips.cpp - Packs matrices into strips -----------------------===//

#include "device/cpu/pack_strips.h"

#include "device/cpu/target_clones.h"

#include <algorithm>

namespace ppopt {

PPOPT_CLONES void copyRow(float *to, const bf16 *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = load(from[i]);
}

namespace {

/// Elements that are transposed at a time, in each direction.
template <typename Element> constexpr int64_t side = 32 / sizeof(Element);

template <typename Element> using Row [[gnu::vector_size(32)]] = Element;

template <typename Element>
[[gnu::always_inline]] inline void loadRow(Row<Element> &row,
                                           const Element *from) {
  std::memcpy(&row, from, sizeof row);
}

[[gnu::always_inline]] inline void loadRow(Row<float> &row, const bf16 *from) {
  using Narrow [[gnu::vector_size(16)]] = uint16_t;
  Narrow bits;
  std::memcpy(&bits, from, sizeof bits);
  row = (Row<float>)(__builtin_convertvector(bits, Row<uint32_t>) << 16);
}

[[gnu::always_inline]] inline void transpose(Row<double> (&r)[4]) {
  Row<double> low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6),
              high01 = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7),
              low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6),
              high23 = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
  r[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  r[2] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  r[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

[[gnu::always_inline]] inline void transpose(Row<float> (&r)[8]) {
  Row<float> t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] =
        __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      u[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9,
                                             4, 5, 12, 13);
      u[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3,
                                                 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] =
        __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// Packs `depth` x `columns` elements into a strip [depth][width]; those of a
/// column are contiguous.
template <typename Element, typename Source>
[[gnu::always_inline]] inline void
transposeColumns(const Source *from, int64_t columnStride, int64_t depth,
                 int64_t columns, Element *to, int64_t width) {
  constexpr int64_t n = side<Element>, line = 64 / sizeof(Source);
  int64_t wholeDepth = depth / n * n, wholeColumns = columns / n * n;
  // Read a cache line of a column to its end before the next column's line,
  // which may map to the same cache set.
  for (int64_t begin = 0; begin < wholeDepth; begin += line)
    for (int64_t j = 0; j < wholeColumns; j += n) {
      // Two lines ahead: the hardware prefetcher does not track so many
      // columns.
      for (int64_t i = 0; i < n; ++i)
        __builtin_prefetch(from + (j + i) * columnStride + begin + 2 * line);
      for (int64_t p = begin; p < std::min(begin + line, wholeDepth); p += n) {
        Row<Element> rows[n];
        for (int64_t i = 0; i < n; ++i)
          loadRow(rows[i], from + (j + i) * columnStride + p);
        transpose(rows);
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(to + (p + i) * width + j, &rows[i], 32);
      }
    }
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t j = p < wholeDepth ? wholeColumns : 0; j < columns; ++j)
      to[p * width + j] = load(from[p + j * columnStride]);
}

PPOPT_CLONES void packColumns(const float *from, int64_t columnStride,
                              int64_t depth, int64_t columns, float *to,
                              int64_t width) {
  transposeColumns(from, columnStride, depth, columns, to, width);
}

PPOPT_CLONES void packColumns(const bf16 *from, int64_t columnStride,
                              int64_t depth, int64_t columns, float *to,
                              int64_t width) {
  transposeColumns(from, columnStride, depth, columns, to, width);
}

PPOPT_CLONES void packColumns(const double *from, int64_t columnStride,
                              int64_t depth, int64_t columns, double *to,
                              int64_t width) {
  transposeColumns(from, columnStride, depth, columns, to, width);
}

/// Copies rows into strips; all of them are whole.
template <int64_t width, typename Element, typename Source>
void copyRows(const Source *from, int64_t rowStride, int64_t rows,
              int64_t strips, Element *to, int64_t stripStride) {
  // The hardware does not prefetch rows that are so short and far apart.
  constexpr int64_t rowsAhead = 8;
  for (int64_t p = 0; p < rows; ++p, from += rowStride, to += width)
    for (int64_t j = 0; j < strips; ++j) {
      __builtin_prefetch(from + rowsAhead * rowStride + j * width);
      copyRow(to + j * stripStride, from + j * width, width);
    }
}

template <typename Element, typename Source>
void copyRows(const Source *from, int64_t rowStride, int64_t rows,
              int64_t strips, Element *to, int64_t width, int64_t stripStride) {
  switch (width) {
#define CASE(width)                                                            \
  case width:                                                                  \
    return copyRows<width>(from, rowStride, rows, strips, to, stripStride);
    CASE(4)
    CASE(6)
    CASE(8)
    CASE(24)
    CASE(16)
    CASE(48)
#undef CASE
  }
}

} // namespace

template <typename Element, typename Source>
void packStrips(const Source *from, int64_t depthStride, int64_t columnStride,
                int64_t depth, int64_t columns, Element *to, int64_t width,
                int64_t stripStride) {
  int64_t whole = columns / width * width;
  if (whole < columns) {
    Element *last = to + whole / width * stripStride;
    std::fill(last, last + depth * width, Element(0));
  }
  if (columnStride == 1) {
    copyRows(from, depthStride, depth, whole / width, to, width, stripStride);
    from += whole;
    to += whole / width * stripStride;
    columns -= whole;
  }
  for (int64_t j = 0; j < columns; j += width, to += stripStride) {
    int64_t count = std::min(width, columns - j);
    const Source *first = from + j * columnStride;
    if (depthStride == 1 && columnStride != 1)
      packColumns(first, columnStride, depth, count, to, width);
    else
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < count; ++i)
          to[p * width + i] = load(first[p * depthStride + i * columnStride]);
  }
}

template void packStrips(const float *, int64_t, int64_t, int64_t, int64_t,
                         float *, int64_t, int64_t);
template void packStrips(const bf16 *, int64_t, int64_t, int64_t, int64_t,
                         float *, int64_t, int64_t);
template void packStrips(const double *, int64_t, int64_t, int64_t, int64_t,
                         double *, int64_t, int64_t);

} // namespace ppopt
