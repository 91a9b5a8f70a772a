//===- tile_kernel.cpp - Matmuls of packed strips -------------------------===//

#include "device/cpu/tile_kernel.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <cstring>

namespace ppopt {

namespace {

template <typename Element, int bytes>
using Vector [[gnu::vector_size(bytes)]] = Element;

/// `rows` rows of a tile of two vectors of columns. `packedRows`: those of a
/// packed tile of A, or 0.
template <typename Element, int bytes, int rows, int packedRows>
[[gnu::always_inline]] inline void
multiplyTile(const Element *__restrict a, int64_t aStride,
             const Element *__restrict b, Element *__restrict c,
             int64_t cStride, int64_t depth, TileResult result) {
  constexpr int64_t width = bytes / sizeof(Element);
  using V = Vector<Element, bytes>;
  V sums[rows][2] = {};
  if (result == TileResult::continued)
    for (int i = 0; i < rows; ++i)
      std::memcpy(sums[i], c + i * cStride, 2 * bytes);
  else
    for (int i = 0; i < rows; ++i)
      for (int64_t line = 0; line < 2 * width; line += 64 / sizeof(Element))
        __builtin_prefetch(c + i * cStride + line, /*rw=*/1);
  for (int64_t p = 0; p < depth; ++p, b += 2 * width) {
    V b0, b1;
    std::memcpy(&b0, b, bytes);
    std::memcpy(&b1, b + width, bytes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      Element ofA = packedRows ? a[p * packedRows + i] : a[i * aStride + p];
      sums[i][0] += ofA * b0;
      sums[i][1] += ofA * b1;
    }
  }
  for (int i = 0; i < rows; ++i) {
    if (result == TileResult::added) {
      V before[2];
      std::memcpy(before, c + i * cStride, 2 * bytes);
      sums[i][0] += before[0];
      sums[i][1] += before[1];
    }
    std::memcpy(c + i * cStride, sums[i], 2 * bytes);
  }
}

/// The first `count` <= rows rows.
template <typename Element, int bytes, int rows, int packedRows>
[[gnu::always_inline]] inline void
multiplyRows(int64_t count, const Element *a, int64_t aStride, const Element *b,
             Element *c, int64_t cStride, int64_t depth, TileResult result) {
  if constexpr (rows > 0) {
    if (count == rows)
      multiplyTile<Element, bytes, rows, packedRows>(a, aStride, b, c, cStride,
                                                     depth, result);
    else
      multiplyRows<Element, bytes, rows - 1, packedRows>(
          count, a, aStride, b, c, cStride, depth, result);
  }
}

template <typename Element>
void copy(Element *to, int64_t toStride, const Element *from,
          int64_t fromStride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride,
                columns * sizeof(Element));
}

template <typename Element, int bytes, int rows, int packedRows>
[[gnu::always_inline]] inline void
multiplyTiles(const StripMatmul<Element> &strip) {
  constexpr int64_t columns = 2 * bytes / sizeof(Element);
  for (int64_t row = 0; row < strip.rows; row += rows) {
    int64_t count = strip.rows - row < rows ? strip.rows - row : rows;
    const Element *a =
        strip.a + row * (packedRows ? strip.depth : strip.aStride);
    Element *ofC = strip.c + row * strip.cStride;
    // For C that is narrower than a tile.
    Element tile[rows * columns];
    bool isWhole = strip.columns == columns;
    if (!isWhole) {
      std::memset(tile, 0, sizeof tile);
      if (strip.result != TileResult::set)
        copy(tile, columns, ofC, strip.cStride, count, strip.columns);
    }
    multiplyRows<Element, bytes, rows, packedRows>(
        count, a, strip.aStride, strip.b, isWhole ? ofC : tile,
        isWhole ? strip.cStride : columns, strip.depth, strip.result);
    if (!isWhole)
      copy(ofC, strip.cStride, tile, columns, count, strip.columns);
  }
}

template <typename Element, int bytes, int rows>
[[gnu::always_inline]] inline void
multiplyStrip(const StripMatmul<Element> &strip) {
  if (strip.aStride == 0)
    multiplyTiles<Element, bytes, rows, rows>(strip);
  else
    multiplyTiles<Element, bytes, rows, 0>(strip);
}

// A tile's sums, two vectors of B and one element of A fill the registers.
template <typename Element> void multiply128(const StripMatmul<Element> &s) {
  multiplyStrip<Element, 16, 6>(s);
}
#if defined(__x86_64__)
template <typename Element>
[[gnu::target("avx2,fma")]] void multiply256(const StripMatmul<Element> &s) {
  multiplyStrip<Element, 32, 6>(s);
}
template <typename Element>
[[gnu::target("avx512f")]] void multiply512(const StripMatmul<Element> &s) {
  multiplyStrip<Element, 64, 14>(s);
}
#endif

template <typename Element> TileKernel<Element> choose() {
  constexpr int64_t size = sizeof(Element);
#if defined(__x86_64__)
  auto has = [isa = int(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
    return (isa & int(wanted)) == int(wanted);
  };
  if (has(dnnl::cpu_isa::avx512_core))
    return {14, 128 / size, multiply512<Element>};
  if (has(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma"))
    return {6, 64 / size, multiply256<Element>};
#endif
  return {6, 32 / size, multiply128<Element>};
}

} // namespace

template <typename Element> const TileKernel<Element> &tileKernel() {
  static const TileKernel<Element> kernel = choose<Element>();
  return kernel;
}

template const TileKernel<float> &tileKernel();
template const TileKernel<double> &tileKernel();

} // namespace ppopt
