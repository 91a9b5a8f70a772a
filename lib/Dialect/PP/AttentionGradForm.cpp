//===- AttentionGradForm.cpp - Kernels of the gradient of attention -------===//

#include "AttentionShapes.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

KernelForm AttentionGradOp::getKernelForm() {
  return KernelForm::AttentionGrad;
}

SmallVector<int64_t> AttentionGradOp::getKernelSpace() {
  return SmallVector<int64_t>(getShape(getQ()));
}

std::optional<int64_t> AttentionGradOp::countTiles(TilesAttr tiles) {
  AttentionShape shape = getAttentionShape();
  int64_t heads = shape.batch * shape.heads, size = tiles.getSize();
  int64_t keyHeads = shape.batch * shape.keyHeads;
  // Query heads that share keys are computed together.
  if (tiles.getUnit() == TileUnit::Heads)
    return llvm::divideCeil(keyHeads, size);
  if (tiles.getUnit() != TileUnit::Queries || tiles.getBlock() == 0)
    return std::nullopt;
  // Tiles of keys have dK and dV, those of queries dQ.
  return keyHeads * llvm::divideCeil(shape.keys, tiles.getBlock()) +
         heads * llvm::divideCeil(shape.queries, size);
}

bool AttentionGradOp::usesStrides() { return true; }

AttentionShape AttentionGradOp::getAttentionShape() {
  return makeAttentionShape(getQ(), getV(), getCausal(), getScale());
}

AttentionScores AttentionGradOp::getAttentionScores() {
  return {getSoftCap() ? getSoftCap()->convertToDouble() : 0,
          getSlopes(),
          getBias(),
          getMask(),
          getSegments(),
          getWindow().value_or(0)};
}

/// The scores and dO Vᵀ; dQ, dK and dV.
FormWork AttentionGradOp::getFormWork() {
  AttentionShape shape = getAttentionShape();
  return makeAttentionWork(
      shape, getWindow().value_or(0),
      static_cast<double>(3 * shape.queryWidth + 2 * shape.valueWidth),
      /*perScore=*/10, /*isGradient=*/true);
}
