//===- AttentionBlocks.cpp - Tiles and blocks of attention ----------------===//

#include "AttentionBlocks.h"

#include "BlockCode.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

AttentionPlanner::AttentionPlanner(KernelOp kernel, int64_t vectorBytes)
    : kernel(kernel), shape(getAttention(kernel).getAttentionShape()),
      heads(shape.batch * shape.heads), keyHeads(shape.batch * shape.keyHeads) {
  Type type = getStatisticsType(
      getElementTypeOrSelf(getAttention(kernel)->getOperand(0)));
  isF64 = type.isF64();
  elementBytes = type.getIntOrFloatBitWidth() / 8;
  width = vectorBytes / elementBytes;
  queryWidth = pad(shape.queryWidth);
  valueWidth = pad(shape.valueWidth);
}

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
