//===- ReductionSpaces.cpp - Reductions and composites as loop nests ------===//

#include "SpaceBuilder.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Reductions and matmuls
//===----------------------------------------------------------------------===//

static bool isSum(ReduceKind kind) {
  return kind == ReduceKind::Sum || kind == ReduceKind::Mean;
}

/// A mean counts as a sum: it is a sum times a constant. All others are maxima
/// in the end.
IterationSpace ReduceOp::getIterationSpace() {
  SpaceBuilder builder;
  LoopKind kind = isSum(getKind()) ? LoopKind::Sum : LoopKind::Max;
  SmallVector<unsigned> loops;
  TensorLoops kept;
  for (auto [i, size] : llvm::enumerate(getShape(getX()))) {
    bool isReduced = llvm::is_contained(getDims(), static_cast<int64_t>(i));
    loops.push_back(
        builder.addLoop(size, isReduced ? kind : LoopKind::Parallel));
    if (!isReduced)
      kept.push_back(DimLoops(1, loops.back()));
    else if (getKeepDims())
      kept.emplace_back();
  }
  builder.addOperand(loops);
  builder.addResult(std::move(kept));
  return builder.take();
}

bool ReduceOp::isLinearIn(ArrayRef<unsigned> operands) {
  return isSum(getKind());
}

/// The index of the largest or smallest element: a maximum in the end.
static IterationSpace indexOfSpace(Value x, uint64_t dim) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(getShape(x)))
    loops.push_back(
        builder.addLoop(size, i == dim ? LoopKind::Max : LoopKind::Parallel));
  builder.addOperand(loops);
  loops.erase(loops.begin() + static_cast<int64_t>(dim));
  builder.addResult(loops);
  return builder.take();
}

IterationSpace ArgmaxOp::getIterationSpace() {
  return indexOfSpace(getX(), getDim());
}

IterationSpace ArgminOp::getIterationSpace() {
  return indexOfSpace(getX(), getDim());
}

IterationSpace MatmulOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(getResult());
  ArrayRef<int64_t> lhs = getShape(getLhs()).take_back(2);
  SmallVector<unsigned> batch =
      builder.addLoops(shape.drop_back(2), LoopKind::Parallel);
  unsigned m = builder.addLoop(shape[shape.size() - 2], LoopKind::Parallel);
  unsigned n = builder.addLoop(shape.back(), LoopKind::Parallel);
  unsigned k = builder.addLoop(lhs[getTransposeLhs() ? 0 : 1], LoopKind::Sum);
  auto matrix = [](unsigned row, unsigned column, bool transposed) {
    if (transposed)
      std::swap(row, column);
    return SmallVector<unsigned>{row, column};
  };
  bool rhsHasBatch = getShape(getRhs()).size() > 2;
  builder.addOperand(joinLoops(batch, matrix(m, k, getTransposeLhs())));
  builder.addOperand(joinLoops(rhsHasBatch ? batch : SmallVector<unsigned>(),
                               matrix(k, n, getTransposeRhs())));
  builder.addResult(joinLoops(batch, {m, n}));
  return builder.take();
}
PP_BILINEAR(MatmulOp)

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

IterationSpace EmbeddingOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> table = getShape(getTable());
  SmallVector<unsigned> ids =
      builder.addLoops(getShape(getIds()), LoopKind::Parallel);
  unsigned row = builder.addLoop(table[0], LoopKind::Lookup);
  unsigned column = builder.addLoop(table[1], LoopKind::Parallel);
  builder.addOperand({row, column});
  builder.addOperand(ids);
  if (getKey())
    builder.addUniformOperand(1);
  builder.addResult(joinLoops(ids, {column}));
  return builder.take();
}
PP_LINEAR(EmbeddingOp, 0)

IterationSpace EmbeddingGradOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> table = getShape(getResult());
  SmallVector<unsigned> ids =
      builder.addLoops(getShape(getIds()), LoopKind::Sum);
  unsigned row = builder.addLoop(table[0], LoopKind::Lookup);
  unsigned column = builder.addLoop(table[1], LoopKind::Parallel);
  builder.addOperand(ids);
  builder.addOperand(joinLoops(ids, {column}));
  if (getKey())
    builder.addUniformOperand(1);
  builder.addResult({row, column});
  return builder.take();
}
PP_LINEAR(EmbeddingGradOp, 1)

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

namespace {

/// The loops of ops on logits: one per dimension of the rows, of kind `rows`,
/// and a replicated one over the classes.
struct LogitsLoops {
  LogitsLoops(SpaceBuilder &builder, Value logits, LoopKind kind)
      : rows(builder.addLoops(getShape(logits).drop_back(), kind)),
        all(joinLoops(rows, {builder.addLoop(getShape(logits).back(),
                                             LoopKind::Replicate)})) {}
  SmallVector<unsigned> rows, all;
};

} // namespace

IterationSpace TokenLossOp::getIterationSpace() {
  SpaceBuilder builder;
  LogitsLoops loops(builder, getLogits(), LoopKind::Parallel);
  builder.addOperand(loops.all);
  builder.addOperand(loops.rows);
  builder.addResult(loops.rows);
  return builder.take();
}

IterationSpace TokenLossGradOp::getIterationSpace() {
  SpaceBuilder builder;
  LogitsLoops loops(builder, getLogits(), LoopKind::Parallel);
  builder.addOperand(loops.all);
  builder.addOperand(loops.rows);
  builder.addOperand(loops.rows);
  builder.addResult(loops.all);
  return builder.take();
}
PP_LINEAR(TokenLossGradOp, 2)

IterationSpace CrossEntropyOp::getIterationSpace() {
  SpaceBuilder builder;
  LogitsLoops loops(builder, getLogits(), LoopKind::Sum);
  builder.addOperand(loops.all);
  builder.addOperand(loops.rows);
  builder.addResult(TensorLoops());
  return builder.take();
}

/// All operands have one shape and are reduced over all dimensions.
static IterationSpace sumSpace(Operation *op) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(op->getOperand(0)), LoopKind::Sum);
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    builder.addOperand(loops);
  builder.addResult(TensorLoops());
  return builder.take();
}

IterationSpace MseOp::getIterationSpace() { return sumSpace(getOperation()); }
IterationSpace BceWithLogitsOp::getIterationSpace() {
  return sumSpace(getOperation());
}
IterationSpace CountOp::getIterationSpace() { return sumSpace(getOperation()); }
int64_t CountOp::getNeutralElement() { return getIgnoreIndex(); }
