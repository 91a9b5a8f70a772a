//===- LineTiles.h - Tiles of lines along a dimension, on a CPU -----------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_LINETILES_H
#define PPOPT_LIB_CODEGEN_CPU_LINETILES_H

#include "ppopt/Codegen/LinesAlongDim.h"

namespace mlir::pp {

/// Returns tiles of columns of a kernel, for each of `others`: each element of
/// what columns are reduced to, or of a table, is computed by one tile.
TilesAttr planColumnTiles(KernelOp kernel, int64_t others);

/// Neighbouring lines of one tile.
struct LineTile {
  Value outerNumber;
  Value first; ///< the first line's inner number
  Value width; ///< a constant if all tiles are equal
};

/// Emits `body` for each of the tiles.
void emitLineTiles(ElementPuller &puller, const AlongDim &along, Value begin,
                   Value end, llvm::function_ref<void(const LineTile &)> body);

/// Emits the additions of a scatter to the tiles' lines.
void emitScatterTiles(ElementPuller &puller, ScatterAddOp op, Value begin,
                      Value end);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_LINETILES_H
