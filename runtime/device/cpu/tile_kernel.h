//===- tile_kernel.h - Matmuls of packed strips ---------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TILE_KERNEL_H
#define PPOPT_RUNTIME_DEVICE_CPU_TILE_KERNEL_H

#include <cstdint>

namespace ppopt {

/// What becomes of C: A·B; what C + a0·b0 + a1·b1 + … is in this order; or
/// C + (A·B).
enum class TileResult { set, continued, added };

/// A line of the cache.
constexpr int64_t lineBytes = 64;

/// Memory that is read next. Its lines are prefetched, some with each tile,
/// where the hardware would begin too late.
struct ReadAhead {
  const char *row = nullptr;
  int64_t rowStride = 0, rowBytes = 0, rows = 0;
  int64_t linesPerTile = 0;
  int64_t offset = 0; ///< in the row

  void continueForTile() {
    for (int64_t i = 0; i < linesPerTile && rows > 0; ++i) {
      __builtin_prefetch(row + offset, /*rw=*/0, /*locality=*/2);
      offset += lineBytes;
      if (offset < rowBytes)
        continue;
      offset = 0;
      row += rowStride;
      --rows;
    }
  }
  int64_t lines() const {
    return rows * ((rowBytes + lineBytes - 1) / lineBytes);
  }
};

/// C [rows, columns] of A [rows, depth] and a strip of B, [depth][columns of a
/// tile], in which the columns from `columns` on are zero. Strides are in
/// elements.
template <typename Element> struct StripMatmul {
  const Element *a;
  /// 0: A is packed, as [tile][depth][rows of a tile], tiles `aTileStride`
  /// apart. Else the distance of rows, whose columns are contiguous.
  int64_t aStride, aTileStride;
  const Element *b;
  Element *c;
  int64_t cStride;
  int64_t rows, columns, depth;
  TileResult result;
  ReadAhead *ahead = nullptr;
};

/// Each element of A·B is summed in order, whatever the sizes are: with one
/// rounding for a product and its addition if the machine has such an
/// instruction.
template <typename Element> struct TileKernel {
  int64_t rows, columns; ///< of a tile of C, which is kept in registers
  void (*multiply)(const StripMatmul<Element> &strip);
};

/// Of all machines. Columns of other tiles divide these.
constexpr int64_t mostTileRows = 8;
template <typename Element>
constexpr int64_t mostTileColumns = 192 / int64_t(sizeof(Element));

/// Returns the kernel for this machine. ONEDNN_MAX_CPU_ISA limits the
/// instructions of ours, too.
template <typename Element> const TileKernel<Element> &tileKernel();

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_TILE_KERNEL_H
