//===- tile_kernel.h - Matmuls of packed strips ---------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TILE_KERNEL_H
#define PPOPT_RUNTIME_DEVICE_CPU_TILE_KERNEL_H

#include <cstdint>

namespace ppopt {

/// What becomes of C: A·B; what C + a0·b0 + a1·b1 + … is in this order; or
/// C + (A·B).
enum class TileResult { set, continued, added };

/// C [rows, columns] of A [rows, depth] and a strip of B, [depth][columns of a
/// tile], in which the columns from `columns` on are zero. Strides are in
/// elements.
template <typename Element> struct StripMatmul {
  const Element *a;
  /// 0: A is packed, as [tile][depth][rows of a tile]. Else the distance of
  /// rows, whose columns are contiguous.
  int64_t aStride;
  const Element *b;
  Element *c;
  int64_t cStride;
  int64_t rows, columns, depth;
  TileResult result;
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
