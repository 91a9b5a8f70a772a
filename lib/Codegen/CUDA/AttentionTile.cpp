//===- AttentionTile.cpp - Tiles of attention on a GPU --------------------===//

#include "AttentionTile.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// Places the matrices of a tile one after the other.
static AttentionTile placeTile(KernelOp kernel, int64_t queries, int64_t keys) {
  AttentionOpInterface op = getAttention(kernel);
  AttentionShape shape = op.getAttentionShape();
  // Columns are read by all 16 threads of a row.
  int64_t queryWidth = llvm::alignTo(shape.queryWidth, kAttentionColumns);
  int64_t valueWidth = llvm::alignTo(shape.valueWidth, kAttentionColumns);
  AttentionTile tile;
  tile.queries = queries;
  tile.keys = keys;
  int64_t end = 0;
  auto place = [&](int64_t rows, int64_t columns) {
    SharedMatrix matrix{rows, columns, end};
    end += matrix.getElements();
    return matrix;
  };
  tile.q = place(queries, queryWidth);
  tile.k = place(keys, queryWidth);
  tile.v = place(keys, valueWidth);
  if (isa<AttentionOp>(op)) {
    tile.p = place(queries, keys);
  } else {
    tile.dout = place(queries, valueWidth);
    // Both of queries × keys and of keys × queries.
    int64_t most = std::max(queries, keys);
    tile.p = place(most, most);
    tile.ds = place(most, most);
    tile.lse = place(2, queries);
    tile.delta = place(1, queries);
  }
  Type type = getStatisticsType(getElementTypeOrSelf(op->getOperand(0)));
  tile.sharedBytes = end * getElementBytes(type);
  return tile;
}

AttentionTile pp::chooseAttentionTile(KernelOp kernel) {
  auto get = [&](Threshold threshold, int64_t most) {
    int64_t size = std::min<int64_t>(getThreshold(kernel, threshold),
                                     llvm::alignTo(most, kAttentionColumns));
    return std::max<int64_t>(llvm::alignDown(size, kAttentionColumns),
                             kAttentionColumns);
  };
  AttentionShape shape = getAttention(kernel).getAttentionShape();
  int64_t queries = get(Threshold::GpuQueries, shape.queries);
  int64_t keys = get(Threshold::GpuKeys, shape.keys);
  if (kernel.getFormAttr().getKind() != KernelForm::Attention)
    queries = std::min(queries, std::max(keys, kAttentionColumns));
  while (true) {
    AttentionTile tile = placeTile(kernel, queries, keys);
    if (tile.sharedBytes <= getThreshold(kernel, Threshold::GpuSharedBytes))
      return tile;
    int64_t &larger = queries >= keys ? queries : keys;
    if (larger == kAttentionColumns)
      return tile;
    larger = std::max<int64_t>(llvm::alignDown(larger / 2, kAttentionColumns),
                               kAttentionColumns);
  }
}

AttentionTile pp::getAttentionTile(KernelOp kernel) {
  return placeTile(kernel, kernel.getTilesAttr().getSize(),
                   kernel.getTilesAttr().getBlock());
}
