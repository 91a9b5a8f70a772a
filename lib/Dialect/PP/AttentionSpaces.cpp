//===- AttentionSpaces.cpp - Attention as a loop nest ---------------------===//

#include "SpaceBuilder.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The loops of attention: batch and heads are parallel, all others
/// replicated. If several query heads share the keys of one, there is a loop
/// over the heads of keys, and one over those that share them, of kind `group`:
/// gradients of keys and values are sums over it.
class AttentionLoops {
public:
  explicit AttentionLoops(const AttentionShape &shape,
                          LoopKind group = LoopKind::Parallel) {
    batch = {addLoop(shape.batch, LoopKind::Parallel)};
    keyHeads = heads = {addLoop(shape.keyHeads, LoopKind::Parallel)};
    if (shape.groupSize() > 1)
      heads.push_back(addLoop(shape.groupSize(), group));
    queries = {addLoop(shape.queries, LoopKind::Replicate)};
    width = {addLoop(shape.queryWidth, LoopKind::Replicate)};
    keys = {addLoop(shape.keys, LoopKind::Replicate)};
    valueWidth = {addLoop(shape.valueWidth, LoopKind::Replicate)};
  }

  TensorLoops q() { return {batch, heads, queries, width}; }
  TensorLoops k() { return {batch, keyHeads, keys, width}; }
  TensorLoops v() { return {batch, keyHeads, keys, valueWidth}; }
  TensorLoops out() { return {batch, heads, queries, valueWidth}; }
  TensorLoops lse() {
    return {batch, heads, queries, {addLoop(2, LoopKind::Replicate)}};
  }
  TensorLoops scores() { return {batch, heads, queries, keys}; }
  /// An operand that is broadcast to the scores.
  TensorLoops broadcast(Value operand) {
    TensorLoops loops = scores();
    for (auto [i, size] : llvm::enumerate(getShape(operand)))
      if (size == 1)
        loops[i].clear();
    return loops;
  }
  /// Operands that change scores.
  void addScores(const AttentionScores &changes) {
    if (changes.bias)
      builder.addOperand(broadcast(changes.bias));
    if (changes.mask)
      builder.addOperand(broadcast(changes.mask));
    if (changes.slopes)
      builder.addOperand(TensorLoops{heads});
    if (changes.segments)
      builder.addOperand(TensorLoops{batch, queries});
  }

  SpaceBuilder builder;

private:
  unsigned addLoop(int64_t extent, LoopKind kind) {
    return builder.addLoop(extent, kind);
  }
  DimLoops batch, heads, keyHeads, queries, width, keys, valueWidth;
};

} // namespace

IterationSpace AttentionOp::getIterationSpace() {
  AttentionLoops loops(getAttentionShape());
  for (const TensorLoops &operand : {loops.q(), loops.k(), loops.v()})
    loops.builder.addOperand(operand);
  loops.addScores(getAttentionScores());
  loops.builder.addResult(loops.out());
  loops.builder.addResult(loops.lse());
  return loops.builder.take();
}

IterationSpace AttentionGradOp::getIterationSpace() {
  AttentionLoops loops(getAttentionShape(), LoopKind::Sum);
  for (const TensorLoops &operand :
       {loops.q(), loops.k(), loops.v(), loops.out(), loops.lse(), loops.out()})
    loops.builder.addOperand(operand);
  loops.addScores(getAttentionScores());
  for (const TensorLoops &result : {loops.q(), loops.k(), loops.v()})
    loops.builder.addResult(result);
  if (getDbias())
    loops.builder.addResult(loops.scores());
  return loops.builder.take();
}
PP_LINEAR(AttentionGradOp, 5)

/// Only this position's rows are written, whatever is read.
IterationSpace AttentionStepOp::getIterationSpace() {
  AttentionLoops loops(getAttentionShape());
  TensorLoops q = loops.q(), k = loops.k(), v = loops.v(), out = loops.out();
  TensorLoops newK = k, newV = v;
  newK[2] = newV[2] = q[2];
  for (const TensorLoops &operand : {q, newK, newV, k, v})
    loops.builder.addOperand(operand);
  loops.builder.addUniformOperand(1);
  loops.addScores(getAttentionScores());
  for (const TensorLoops &result : {out, k, v})
    loops.builder.addResult(result);
  return loops.builder.take();
}
