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
  return {query[0],
          query[1],
          value[1],
          query[2],
          value[2],
          query[3],
          value[3],
          isCausal,
          scale ? scale->convertToDouble() : 1 / std::sqrt(width)};
}

/// Returns the sum of min(i, most) over i in 1..count.
static double sumUpTo(int64_t count, int64_t most) {
  auto n = static_cast<double>(std::max<int64_t>(count, 0)),
       w = static_cast<double>(most);
  return n <= w ? n * (n + 1) / 2 : w * (w + 1) / 2 + (n - w) * w;
}

/// Returns how many keys the queries of a head see, if only positions hide
/// them.
static double countSeen(const AttentionShape &shape, int64_t window) {
  if (!shape.isCausal && window == 0)
    return static_cast<double>(shape.queries) * static_cast<double>(shape.keys);
  int64_t most = window == 0 ? shape.keys : window;
  // The last query is at the position of the last key.
  double upTo =
      sumUpTo(shape.keys, most) - sumUpTo(shape.keys - shape.queries, most);
  double after = shape.isCausal ? 0 : sumUpTo(shape.queries - 1, most - 1);
  return upTo + after;
}

FormWork pp::makeAttentionWork(const AttentionShape &shape, int64_t window,
                               double depth, double perScore, bool isGradient) {
  double scores =
      static_cast<double>(shape.batch * shape.heads) * countSeen(shape, window);
  return {2 * scores * depth, perScore * scores, isGradient};
}

static double getNumber(std::optional<APFloat> number) {
  return number ? number->convertToDouble() : 0;
}

/// The forward has two matmuls.
static FormWork getForwardWork(const AttentionShape &shape, int64_t window) {
  return makeAttentionWork(
      shape, window, static_cast<double>(shape.queryWidth + shape.valueWidth),
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

AttentionScores AttentionOp::getAttentionScores() {
  return {
      getNumber(getSoftCap()), getSlopes(), getBias(), getMask(), getSegments(),
      getWindow().value_or(0)};
}

FormWork AttentionOp::getFormWork() {
  return getForwardWork(getAttentionShape(), getWindow().value_or(0));
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
  // Query heads that share keys are computed together.
  ArrayRef<int64_t> k = getShape(getK());
  return llvm::divideCeil(k[0] * k[1], tiles.getSize());
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

AttentionScores AttentionStepOp::getAttentionScores() {
  AttentionScores scores;
  scores.softCap = getNumber(getSoftCap());
  scores.slopes = getSlopes();
  scores.window = getWindow().value_or(0);
  return scores;
}

FormWork AttentionStepOp::getFormWork() {
  return getForwardWork(getAttentionShape(), getWindow().value_or(0));
}
