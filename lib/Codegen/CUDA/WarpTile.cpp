//===- WarpTile.cpp - Tiles of attention by tensor cores ------------------===//

#include "WarpTile.h"

#include "Shuffle.h"
#include "TensorCores.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/KernelOps.h"

using namespace mlir;
using namespace mlir::pp;

int64_t WarpTile::getThreads() const { return rows / rowsOfWarp * kWarp; }

bool pp::usesTensorCores(KernelOp kernel) {
  return getElementTypeOrSelf(getAttention(kernel)->getOperand(0)).isBF16();
}

static WarpTile placeTile(KernelOp kernel, int64_t rows, int64_t rowsOfWarp,
                          int64_t columns) {
  AttentionShape shape = getAttention(kernel).getAttentionShape();
  bool isForward = kernel.getFormAttr().getKind() == KernelForm::Attention;
  int64_t queryWidth = llvm::alignTo(shape.queryWidth, kProductDepth);
  int64_t valueWidth = llvm::alignTo(shape.valueWidth, kProductDepth);
  WarpTile tile;
  tile.rows = rows;
  tile.rowsOfWarp = rowsOfWarp;
  tile.columns = columns;
  int64_t end = 0;
  auto place = [&](auto &part) {
    part.begin = end;
    end += part.getBytes();
  };
  tile.rowQK = {rows, queryWidth};
  tile.rowV = {isForward ? 0 : rows, valueWidth};
  tile.columnQK = {columns, queryWidth};
  tile.columnV = {columns, valueWidth};
  for (WarpMatrix *matrix :
       {&tile.rowQK, &tile.rowV, &tile.columnQK, &tile.columnV})
    place(*matrix);
  // The queries are rows of some blocks and columns of others.
  tile.maximum = tile.logSum =
      tile.delta = {isForward ? 0 : std::max(rows, columns)};
  for (WarpNumbers *numbers : {&tile.maximum, &tile.logSum, &tile.delta})
    place(*numbers);
  tile.sharedBytes = end;
  return tile;
}

WarpTile pp::chooseWarpTile(KernelOp kernel) {
  AttentionShape shape = getAttention(kernel).getAttentionShape();
  bool isForward = kernel.getFormAttr().getKind() == KernelForm::Attention;
  int64_t most =
      isForward ? shape.queries : std::max(shape.queries, shape.keys);
  // A thread's registers hold the queries, scores and results of its rows.
  constexpr int64_t kWidestOfTwo = 64, kMostScores = 1024; // of a warp
  bool hasTwo = isForward && most > kProductRows &&
                std::max(shape.queryWidth, shape.valueWidth) <= kWidestOfTwo;
  int64_t rowsOfWarp = (hasTwo ? 2 : 1) * kProductRows;
  int64_t warps = std::min<int64_t>(getThreshold(kernel, Threshold::GpuWarps),
                                    llvm::divideCeil(most, rowsOfWarp));
  int64_t columns = std::min(
      {static_cast<int64_t>(getThreshold(kernel, Threshold::GpuTensorKeys)),
       shape.keys, kMostScores / rowsOfWarp});
  columns = llvm::alignTo(columns, kProductDepth);
  while (true) {
    int64_t rows = warps * rowsOfWarp;
    WarpTile tile =
        placeTile(kernel, rows, rowsOfWarp, isForward ? columns : rows);
    if (tile.sharedBytes <= getThreshold(kernel, Threshold::GpuSharedBytes))
      return tile;
    if (isForward && columns > kProductDepth && columns >= rows)
      columns = llvm::alignTo(columns / 2, kProductDepth);
    else if (warps > 1)
      warps = llvm::divideCeil(warps, 2);
    else
      return tile;
  }
}

WarpTile pp::getWarpTile(KernelOp kernel) {
  TilesAttr tiles = kernel.getTilesAttr();
  int64_t warps = kernel.getThreadsAttr().getCount() / kWarp;
  return placeTile(kernel, tiles.getSize(), tiles.getSize() / warps,
                   tiles.getBlock());
}
