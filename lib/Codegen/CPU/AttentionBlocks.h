//===- AttentionBlocks.h - Tiles and blocks of attention ------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H
#define PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H

#include "ppopt/Codegen/AttentionOperands.h"

namespace mlir::pp {

/// Rows whose scores are computed at a time, in the forward.
inline constexpr int64_t kStripRows = 16;

/// Returns the bytes of scratch memory of the gradient for blocks of `block`
/// queries and keys; widths are those of packed rows.
int64_t getBytesOfGradBlocks(int64_t block, int64_t queryWidth,
                             int64_t valueWidth, int64_t elementBytes);

/// Returns tiles of queries or of heads, and blocks of keys, that fit into
/// scratch memory.
TilesAttr planAttention(KernelOp kernel, int64_t vectorBytes);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_ATTENTIONBLOCKS_H
