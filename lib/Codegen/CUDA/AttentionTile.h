//===- AttentionTile.h - Tiles of attention on a GPU ----------------------===//
//
// A block of 16 × 16 threads has a tile of scores: thread (y, x) has the rows
// y, y + 16, … and the columns x, x + 16, …, so that the 16 threads of a row
// are half a warp. What all threads read lies in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTILE_H
#define PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTILE_H

#include "ppopt/Codegen/AttentionOperands.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// The threads that share a row of scores, and those of a block.
inline constexpr int64_t kAttentionColumns = 16, kAttentionThreads = 256;
/// The rows that a block has threads for.
inline constexpr int64_t kThreadRows = kAttentionThreads / kAttentionColumns;

/// A matrix in shared memory: its rows are one element longer than they must
/// be, so that neighbouring rows begin in different banks.
struct SharedMatrix {
  int64_t rows = 0, columns = 0; ///< columns that code reads
  int64_t begin = 0;             ///< in elements, from the start of the memory

  int64_t getStride() const { return columns + 1; }
  int64_t getElements() const { return rows * getStride(); }
};

/// The sizes of a tile, and where its matrices lie.
struct AttentionTile {
  int64_t queries, keys;
  int64_t sharedBytes;
  /// Of the forward: q, k, v, p. Of the gradient also dO, dS, and two columns
  /// of numbers per query.
  SharedMatrix q, k, v, p, dout, ds, lse, delta;
};

/// Returns the largest tile that fits the thresholds, else the smallest.
AttentionTile chooseAttentionTile(KernelOp kernel);

/// Returns the tile of a kernel that is planned.
AttentionTile getAttentionTile(KernelOp kernel);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTILE_H
