//===- AttentionBlocks.cpp - Tiles and blocks of attention ----------------===//

#include "AttentionBlocks.h"

#include "BlockCode.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

int64_t pp::getBytesOfGradBlocks(int64_t block, int64_t queryWidth,
                                 int64_t valueWidth, int64_t elementBytes) {
  return (5 * queryWidth + 3 * valueWidth + 2 * block + 2) * block *
         elementBytes;
}

namespace {

class AttentionPlanner {
public:
  AttentionPlanner(KernelOp kernel, Operation *op, int64_t vectorBytes)
      : kernel(kernel), shape(op), heads(shape.batch * shape.heads) {
    Type type = getStatisticsType(getElementTypeOrSelf(op->getOperand(0)));
    isF64 = type.isF64();
    elementBytes = type.getIntOrFloatBitWidth() / 8;
    width = vectorBytes / elementBytes;
    queryWidth = pad(shape.queryWidth);
    valueWidth = pad(shape.valueWidth);
  }

  TilesAttr planForward();
  TilesAttr planStep();
  TilesAttr planGrad();

private:
  int64_t pad(int64_t columns) { return llvm::alignTo(columns, width); }
  int64_t get(Threshold threshold) { return getThreshold(kernel, threshold); }
  int64_t chooseKeys(llvm::function_ref<int64_t(int64_t)> bytesOfKeys);
  TilesAttr makeTiles(int64_t count, int64_t size, TileUnit unit,
                      int64_t block) {
    return TilesAttr::get(kernel.getContext(), count, size, unit, block);
  }

  KernelOp kernel;
  AttentionShape shape;
  int64_t heads;
  bool isF64;
  int64_t elementBytes, width;    ///< elements of a vector
  int64_t queryWidth, valueWidth; ///< of packed rows
};

} // namespace

/// Returns the number of keys of a block if all blocks together have
/// `bytesOfKeys(n)` bytes.
int64_t
AttentionPlanner::chooseKeys(llvm::function_ref<int64_t(int64_t)> bytesOfKeys) {
  // A multiple of the vector width, and of the row group where keys are rows.
  int64_t least = std::max(width, kGroupRows);
  // Large enough to keep a group of a matmul in registers, small enough for the
  // caches.
  int64_t most = get(Threshold::AttentionKeys) / (isF64 ? 2 : 1);
  int64_t count = std::max(least, most / least * least);
  while (count / 2 >= least &&
         bytesOfKeys(count) > get(Threshold::ScratchBytes))
    count = llvm::alignDown(count / 2, least);
  return std::min<int64_t>(count, llvm::alignTo(shape.keys, least));
}

TilesAttr AttentionPlanner::planForward() {
  auto ofKeys = [&](int64_t count) {
    return (2 * queryWidth + valueWidth + kStripRows) * count * elementBytes;
  };
  auto ofRows = [&](int64_t count) {
    return (queryWidth + valueWidth + 1 + width) * count * elementBytes;
  };
  int64_t keys = chooseKeys([&](int64_t count) { return 2 * ofKeys(count); });
  int64_t rows = llvm::alignTo(
      std::min(get(Threshold::AttentionRows), shape.queries), kStripRows);
  while (rows > kStripRows &&
         ofRows(rows) + ofKeys(keys) > get(Threshold::ScratchBytes))
    rows = llvm::alignTo(rows / 2, kStripRows);
  return makeTiles(heads * llvm::divideCeil(shape.queries, rows), rows,
                   TileUnit::Queries, keys);
}

/// A longer context needs no more scratch memory.
TilesAttr AttentionPlanner::planStep() {
  int64_t keys = pad(std::min(shape.keys, get(Threshold::StepKeys)));
  return makeTiles(heads, 1, TileUnit::Heads, keys);
}

TilesAttr AttentionPlanner::planGrad() {
  int64_t keys = chooseKeys([&](int64_t count) {
    return getBytesOfGradBlocks(count, queryWidth, valueWidth, elementBytes);
  });
  return makeTiles(heads, 1, TileUnit::Heads, keys);
}

TilesAttr pp::planAttention(KernelOp kernel, int64_t vectorBytes) {
  AttentionPlanner planner(kernel, getAttention(kernel), vectorBytes);
  switch (kernel.getFormAttr().getKind()) {
  case KernelForm::AttentionStep:
    return planner.planStep();
  case KernelForm::AttentionGrad:
    return planner.planGrad();
  default:
    return planner.planForward();
  }
}
