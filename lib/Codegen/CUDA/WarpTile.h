//===- WarpTile.h - Tiles of attention by tensor cores --------------------===//
//
// A block has some rows of scores (queries, or keys for the gradients by k and
// v), 16 or 32 for each of its warps, and goes through all columns, some at a
// time: as many as rows in the gradient. The operands of both lie in shared
// memory, in bf16.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_WARPTILE_H
#define PPOPT_LIB_CODEGEN_CUDA_WARPTILE_H

#include "ppopt/Codegen/AttentionOperands.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// A matrix of bf16 in shared memory: rows are 16 bytes longer than they must
/// be, so that eight rows of 16 bytes lie in different banks.
struct WarpMatrix {
  int64_t rows = 0, columns = 0; ///< columns: a multiple of 16
  int64_t begin = 0;             ///< in bytes, from the start of the memory

  int64_t getStride() const { return columns + 8; }
  int64_t getBytes() const { return rows * getStride() * 2; }
};

/// Numbers in f32, one for each row of a matrix.
struct WarpNumbers {
  int64_t rows = 0, begin = 0;

  int64_t getBytes() const { return rows * 4; }
};

/// The sizes of a tile, and where its matrices lie.
struct WarpTile {
  int64_t rows, columns; ///< of scores
  int64_t rowsOfWarp;
  int64_t sharedBytes;
  /// Of rows: q or k, and, of the gradient, dO or v; of columns: k or q, and v
  /// or dO.
  WarpMatrix rowQK, rowV, columnQK, columnV;
  /// Of the gradient: of the queries.
  WarpNumbers maximum, logSum, delta;

  int64_t getThreads() const;
};

/// Returns whether a kernel of attention is computed by tensor cores: if its
/// operands are bf16.
bool usesTensorCores(KernelOp kernel);

/// Returns the largest tile that fits the thresholds, else the smallest.
WarpTile chooseWarpTile(KernelOp kernel);

/// Returns the tile of a kernel that is planned.
WarpTile getWarpTile(KernelOp kernel);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_WARPTILE_H
