//===- AttentionForms.cpp - Kernels of attention --------------------------===//

#include "AttentionShapes.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

AttentionShape pp::makeAttentionShape(Value q, Value v, bool isCausal,
                                      std::optional<APFloat> scale) {
  ArrayRef<int64_t> query = getShape(q), value = getShape(v);
  double width = static_cast<double>(query[3]);
  return {query[0], query[1], value[1], query[2], value[2], query[3], value[3],
          isCausal, scale ? scale->convertToDouble() : 1 / std::sqrt(width)};
}

FormWork pp::makeAttentionWork(const AttentionShape &shape, double depth,
                               double perScore, bool isGradient) {
  // The last query sees all keys.
  auto keys = static_cast<double>(shape.keys);
  double seen = shape.isCausal
                    ? (2 * keys - static_cast<double>(shape.queries) + 1) / 2
                    : keys;
  double scores =
      static_cast<double>(shape.batch * shape.heads * shape.queries) * seen;
  return {2 * scores * depth, perScore * scores, isGradient};
}

/// The forward has two matmuls.
static FormWork getForwardWork(const AttentionShape &shape) {
  return makeAttentionWork(
      shape, static_cast<double>(shape.queryWidth + shape.valueWidth),
      /*perScore=*/6);
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

KernelForm AttentionOp::getKernelForm() { return KernelForm::Attention; }

SmallVector<int64_t> AttentionOp::getKernelSpace() {
  return SmallVector<int64_t>(getShape(getQ()));
}

std::optional<int64_t> AttentionOp::countTiles(TilesAttr tiles) {
  if (tiles.getUnit() != TileUnit::Queries)
    return std::nullopt;
  ArrayRef<int64_t> q = getShape(getQ());
  return q[0] * q[1] * llvm::divideCeil(q[2], tiles.getSize());
}

bool AttentionOp::usesStrides() { return true; }

AttentionShape AttentionOp::getAttentionShape() {
  return makeAttentionShape(getQ(), getV(), getCausal(), getScale());
}

FormWork AttentionOp::getFormWork() {
  return getForwardWork(getAttentionShape());
}

//===----------------------------------------------------------------------===//
// attention_step
//===----------------------------------------------------------------------===//

KernelForm AttentionStepOp::getKernelForm() {
  return KernelForm::AttentionStep;
}

SmallVector<int64_t> AttentionStepOp::getKernelSpace() {
  return SmallVector<int64_t>(getShape(getQ()));
}

std::optional<int64_t> AttentionStepOp::countTiles(TilesAttr tiles) {
  if (tiles.getUnit() != TileUnit::Heads)
    return std::nullopt;
  ArrayRef<int64_t> q = getShape(getQ());
  return llvm::divideCeil(q[0] * q[1], tiles.getSize());
}

bool AttentionStepOp::usesStrides() { return true; }

/// The caches.
Value AttentionStepOp::getOverwritten(Value result) {
  if (result == getKAfter())
    return getKCache();
  return result == getVAfter() ? getVCache() : Value();
}

AttentionShape AttentionStepOp::getAttentionShape() {
  return makeAttentionShape(getQ(), getVCache(), /*isCausal=*/true, getScale());
}

FormWork AttentionStepOp::getFormWork() {
  return getForwardWork(getAttentionShape());
}
