//===- tile_kernel.cpp - Matmuls of packed strips -------------------------===//

#include "device/cpu/tile_kernel.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstring>

namespace ppopt {

namespace {

template <typename Element, int bytes>
using Vector [[gnu::vector_size(bytes)]] = Element;

/// How C is cut: vectors of `bytes`, and the rows and vectors of a tile. The
/// loop over the depth is unrolled `unroll` times.
template <typename ElementType, int vectorBytes, int tileRows, int tileVectors,
          int unrolledDepth = 1>
struct Tiling {
  using Element = ElementType;
  using V = Vector<Element, vectorBytes>;
  static constexpr int64_t bytes = vectorBytes,
                           width = vectorBytes / sizeof(Element),
                           rows = tileRows, vectors = tileVectors,
                           columns = width * vectors, unroll = unrolledDepth;
};

/// `rows` rows and `vectors` vectors of a tile.
template <typename T, int rows, int vectors, bool isPacked>
[[gnu::always_inline]] inline void
multiplyTile(const typename T::Element *__restrict a, int64_t aStride,
             const typename T::Element *__restrict b,
             typename T::Element *__restrict c, int64_t cStride, int64_t depth,
             TileResult result) {
  using Element = typename T::Element;
  constexpr int64_t lineElements = lineBytes / sizeof(Element);
  typename T::V sums[rows][vectors] = {};
  if (result == TileResult::continued)
    for (int i = 0; i < rows; ++i)
      std::memcpy(sums[i], c + i * cStride, vectors * T::bytes);
  else // is read or written at the end
    for (int i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors * T::width; j += lineElements)
        __builtin_prefetch(c + i * cStride + j, /*rw=*/1);
  // Of an unrolled loop, a base register and a scaled stride address three rows
  // without further instructions.
  constexpr int rowsOfBase = T::unroll > 1 ? 3 : rows,
                bases = (rows + rowsOfBase - 1) / rowsOfBase;
  const Element *base[bases];
  for (int i = 0; i < bases; ++i)
    base[i] = a + i * rowsOfBase * aStride;
  auto multiply = [&](int64_t p) __attribute__((always_inline)) {
    typename T::V ofB[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      std::memcpy(&ofB[j], b + p * T::columns + j * T::width, T::bytes);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      Element ofA = isPacked
                        ? a[p * T::rows + i]
                        : base[i / rowsOfBase][i % rowsOfBase * aStride + p];
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j)
        sums[i][j] += ofA * ofB[j];
    }
  };
  int64_t rest = depth;
  if constexpr (T::unroll > 1)
    for (; rest >= T::unroll; rest -= T::unroll) {
#pragma GCC unroll 8
      for (int p = 0; p < T::unroll; ++p)
        multiply(p);
      a += T::unroll * T::rows;
      b += T::unroll * T::columns;
      for (const Element *&pointer : base) {
        pointer += T::unroll;
        // Else the compiler replaces them by one register and additions.
        asm("" : "+r"(pointer));
      }
    }
  for (int64_t p = 0; p < rest; ++p)
    multiply(p);
  for (int i = 0; i < rows; ++i) {
    if (result == TileResult::added) {
      typename T::V before[vectors];
      std::memcpy(before, c + i * cStride, vectors * T::bytes);
      for (int j = 0; j < vectors; ++j)
        sums[i][j] += before[j];
    }
    std::memcpy(c + i * cStride, sums[i], vectors * T::bytes);
  }
}

/// All rows of a strip, of which it takes `rows` at a time; then the rest with
/// the next smaller power of two.
template <typename T, int rows, int vectors, bool isPacked>
[[gnu::always_inline]] inline void
multiplyRows(const StripMatmul<typename T::Element> &strip, int64_t row,
             int64_t end) {
  using Element = typename T::Element;
  for (; row + rows <= end; row += rows) {
    // (With AVX-512 this is not measured.)
    if constexpr (T::unroll > 1)
      if (strip.ahead)
        strip.ahead->continueForTile();
    const Element *a =
        strip.a + (isPacked ? row / T::rows * strip.aTileStride + row % T::rows
                            : row * strip.aStride);
    multiplyTile<T, rows, vectors, isPacked>(
        a, strip.aStride, strip.b, strip.c + row * strip.cStride, strip.cStride,
        strip.depth, strip.result);
  }
  if constexpr (rows > 1)
    multiplyRows<T, rows == 6 ? 4 : rows / 2, vectors, isPacked>(strip, row,
                                                                 end);
}

template <typename Element>
void copy(Element *to, int64_t toStride, const Element *from,
          int64_t fromStride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride,
                columns * sizeof(Element));
}

/// A strip whose columns are those of `vectors` vectors, or less.
template <typename T, int vectors, bool isPacked>
[[gnu::always_inline]] inline void
multiplyVectors(const StripMatmul<typename T::Element> &strip) {
  using Element = typename T::Element;
  constexpr int64_t columns = vectors * T::width;
  if constexpr (vectors > 1)
    if (strip.columns <= columns - T::width)
      return multiplyVectors<T, vectors - 1, isPacked>(strip);
  if (strip.columns == columns)
    return multiplyRows<T, T::rows, vectors, isPacked>(strip, 0, strip.rows);
  // C is narrower than the vectors.
  for (int64_t row = 0; row < strip.rows; row += T::rows) {
    Element tile[T::rows * columns] = {};
    int64_t count = std::min(strip.rows - row, T::rows);
    StripMatmul<Element> part = strip;
    Element *c = strip.c + row * strip.cStride;
    part.a +=
        isPacked ? row / T::rows * strip.aTileStride : row * strip.aStride;
    part.c = tile;
    part.cStride = columns;
    if (strip.result != TileResult::set)
      copy(tile, columns, c, strip.cStride, count, strip.columns);
    multiplyRows<T, T::rows, vectors, isPacked>(part, 0, count);
    copy(c, strip.cStride, tile, columns, count, strip.columns);
  }
}

template <typename T>
[[gnu::always_inline]] inline void
multiplyStrip(const StripMatmul<typename T::Element> &strip) {
  if (strip.aStride == 0)
    multiplyVectors<T, T::vectors, true>(strip);
  else
    multiplyVectors<T, T::vectors, false>(strip);
}

// A tile's sums, its vectors of B and an element of A fill the registers.
template <typename Element> using Tiling128 = Tiling<Element, 16, 6, 2>;
template <typename Element> using Tiling256 = Tiling<Element, 32, 6, 2, 4>;
template <typename Element> using Tiling512 = Tiling<Element, 64, 8, 3>;

template <typename Element> void multiply128(const StripMatmul<Element> &s) {
  multiplyStrip<Tiling128<Element>>(s);
}
#if defined(__x86_64__)
template <typename Element>
[[gnu::target("avx2,fma")]] void multiply256(const StripMatmul<Element> &s) {
  multiplyStrip<Tiling256<Element>>(s);
}
template <typename Element>
[[gnu::target("avx512f")]] void multiply512(const StripMatmul<Element> &s) {
  multiplyStrip<Tiling512<Element>>(s);
}
#endif

template <typename T>
TileKernel<typename T::Element>
kernelOf(void (*multiply)(const StripMatmul<typename T::Element> &)) {
  static_assert(T::rows <= mostTileRows &&
                mostTileColumns<typename T::Element> % T::columns == 0);
  return {T::rows, T::columns, multiply};
}

template <typename Element> TileKernel<Element> choose() {
#if defined(__x86_64__)
  auto has = [isa = int(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
    return (isa & int(wanted)) == int(wanted);
  };
  if (has(dnnl::cpu_isa::avx512_core))
    return kernelOf<Tiling512<Element>>(multiply512<Element>);
  if (has(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma"))
    return kernelOf<Tiling256<Element>>(multiply256<Element>);
#endif
  return kernelOf<Tiling128<Element>>(multiply128<Element>);
}

} // namespace

template <typename Element> const TileKernel<Element> &tileKernel() {
  static const TileKernel<Element> kernel = choose<Element>();
  return kernel;
}

template const TileKernel<float> &tileKernel();
template const TileKernel<double> &tileKernel();

} // namespace ppopt
