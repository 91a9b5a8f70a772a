//===- AttentionBlocks.h - Tiles and blocks of attention ------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H
#define PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/AttentionOperands.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Rows whose scores are computed at a time, in the forward.
inline constexpr int64_t kStripRows = 16;

/// What the tiles of an attention follow from.
struct AttentionPlanner {
  AttentionPlanner(KernelOp kernel, int64_t vectorBytes);

  int64_t pad(int64_t columns) { return llvm::alignTo(columns, width); }
  int64_t get(Threshold threshold) { return getThreshold(kernel, threshold); }
  /// Returns the number of keys of a block if all blocks together have
  /// `bytesOfKeys(n)` bytes.
  int64_t chooseKeys(llvm::function_ref<int64_t(int64_t)> bytesOfKeys);
  TilesAttr makeTiles(int64_t count, int64_t size, TileUnit unit,
                      int64_t block) {
    return TilesAttr::get(kernel.getContext(), count, size, unit, block);
  }

  KernelOp kernel;
  AttentionShape shape;
  int64_t heads, keyHeads; ///< of all batches
  bool isF64;
  int64_t elementBytes, width;    ///< elements of a vector
  int64_t queryWidth, valueWidth; ///< of packed rows
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H
