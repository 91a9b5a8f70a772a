//===- EmitAttentionStep.cpp - Attention of one position ------------------===//
//
// A tile is a head of keys, with the query heads that read it. The position's
// key and value go into the caches; then, over blocks of the keys 0..position,
// or of those in the window, for each query head:
//
//   s = scale q Kᵀ,  m' = max(m, max s),  p = exp(s - m'),
//   l = l exp(m - m') + sum p,  o = o exp(m - m') + p V
//
// and after the last block out = o / l. The caches are read once, up to the
// position.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "EmitAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

namespace {

class StepEmitter {
public:
  StepEmitter(AttentionCode &code, AttentionStepOp op);
  void emit(Value begin, Value end);

private:
  void emitKeyHead(Value keyHead);
  void forHeads(Value keyHead, llvm::function_ref<void()> body);
  void store(const StridedMatrix &row, const StridedMatrix &cache);
  void emitBlock(Value firstKey);
  void emitScores(Value firstKey, Value count);
  void emitProbabilities(Value count, Value most);
  void emitWeighted(Value firstKey, Value count, Value rescale);
  void emitResult();
  StridedMatrix matrixOf(Value value) {
    return *c.getMatrix(value, c.index(0));
  }
  Value first(const PackedMatrix &block) {
    return c.at(block, row, c.index(0));
  }

  AttentionCode &c;
  AttentionStepOp op;
  ScoreCode change;
  /// Keys of a block; a longer context needs no more scratch memory.
  int64_t blockKeys;
  /// Scores, then probabilities, of a block.
  PackedMatrix scores;
  /// A row for each query head of the tile: the scaled query; the sum of
  /// values; per lane, the maximum of the scores and the sum of probabilities.
  PackedMatrix q, out, maximum, sum;
  /// The row of the current head.
  Value row;
  Value position;
};

} // namespace

StepEmitter::StepEmitter(AttentionCode &code, AttentionStepOp op)
    : c(code), op(op), change(code), blockKeys(c.tiles.getBlock()) {
  scores = c.allocate(1, blockKeys);
  q = c.allocate(c.groupSize(), c.queryWidth);
  out = c.allocate(c.groupSize(), c.valueWidth);
  maximum = c.allocate(c.groupSize(), c.width);
  sum = c.allocate(c.groupSize(), c.width);
}

/// Stores the only row of `row` at the position of the cache.
void StepEmitter::store(const StridedMatrix &row, const StridedMatrix &cache) {
  c.forColumns(row.columns, [&](Value column, int64_t count) {
    c.storeColumns(c.loadColumns(row, c.index(0), column, count), cache,
                   position, column, count);
  });
}

/// Computes scores, as many keys at a time as a vector has elements. There are
/// no keys after the position: the last one is read instead, and its score does
/// not count.
void StepEmitter::emitScores(Value firstKey, Value count) {
  StridedMatrix k = matrixOf(op.getKCache());
  double infinity = std::numeric_limits<double>::infinity();
  change.startQueries(c.index(0), c.index(1));
  change.startKeys(firstKey, count);
  ScoreRow ofPosition = change.getRowAt(position);
  c.loop(c.index(0), count, c.width, [&](Value begin) {
    // A vector per key, whose elements add up to its product with the query.
    SmallVector<Value> partials;
    for (int64_t i = 0; i < c.width; ++i) {
      Value key = c.min(c.add(firstKey, c.add(begin, i)), position);
      Value partial = c.splat(0);
      for (int64_t column = 0; column < c.queryWidth; column += c.width) {
        int64_t columns = std::min(c.width, c.queryWidth - column);
        Value x = c.loadColumns(k, key, c.index(column), columns);
        Value y = c.loadVector(c.at(q, row, c.index(column)));
        partial = c.fma(x, y, partial);
      }
      partials.push_back(partial);
    }
    Value score =
        c.combineEach(partials, [&](Value a, Value b) { return c.addF(a, b); });
    score = change.hide(ofPosition, begin,
                        change.change(ofPosition, begin, score), -infinity);
    c.storeVector(score, c.at(scores, c.index(0), begin));
    Value most = first(maximum);
    c.storeVector(c.maxF(c.loadVector(most), score), most);
  });
}

/// Replaces `scores` by probabilities; all valid scores are at most `most`.
void StepEmitter::emitProbabilities(Value count, Value most) {
  c.loop(c.index(0), count, c.width, [&](Value begin) {
    Value at = c.at(scores, c.index(0), begin);
    Value p = c.exp(c.subF(c.loadVector(at), most));
    c.storeVector(p, at);
    c.storeVector(c.addF(c.loadVector(first(sum)), p), first(sum));
  });
}

/// Adds the block's values to the previous sum times `rescale`.
void StepEmitter::emitWeighted(Value firstKey, Value count, Value rescale) {
  StridedMatrix v = matrixOf(op.getVCache());
  SmallVector<Value> sums;
  for (int64_t column = 0; column < c.valueWidth; column += c.width)
    sums.push_back(
        c.mulF(c.loadVector(c.at(out, row, c.index(column))), rescale));
  auto loop = scf::ForOp::create(
      c.builder, c.loc, c.index(0), count, c.index(1), sums,
      [&](OpBuilder &, Location, Value key, ValueRange before) {
        Value p = c.loadBroadcast(c.at(scores, c.index(0), key));
        SmallVector<Value> after;
        for (auto [i, sum] : llvm::enumerate(before)) {
          int64_t column = i * c.width;
          int64_t columns = std::min(c.width, c.valueWidth - column);
          Value x =
              c.loadColumns(v, c.add(firstKey, key), c.index(column), columns);
          after.push_back(c.fma(p, x, sum));
        }
        scf::YieldOp::create(c.builder, c.loc, after);
      });
  for (auto [i, sum] : llvm::enumerate(loop.getResults()))
    c.storeVector(sum, c.at(out, row, c.index(i * c.width)));
}

void StepEmitter::emitBlock(Value firstKey) {
  Value count = c.min(c.index(blockKeys), c.sub(c.add(position, 1), firstKey));
  Value before = c.loadVector(first(maximum));
  emitScores(firstKey, count);
  Value most = c.broadcast(vector::ReductionOp::create(
      c.builder, c.loc, vector::CombiningKind::MAXIMUMF,
      c.loadVector(first(maximum))));
  c.storeVector(most, first(maximum));
  Value rescale = c.exp(c.subF(before, most));
  c.storeVector(c.mulF(c.loadVector(first(sum)), rescale), first(sum));
  emitProbabilities(count, most);
  emitWeighted(firstKey, count, rescale);
}

void StepEmitter::emitResult() {
  StridedMatrix to = matrixOf(op.getOut());
  Value total = c.broadcast(c.sumOf(c.loadVector(first(sum))));
  Value inverse = arith::DivFOp::create(c.builder, c.loc, c.splat(1), total);
  c.forColumns(c.valueWidth, [&](Value column, int64_t count) {
    Value x = c.loadVector(c.at(out, row, column));
    c.storeColumns(c.mulF(x, inverse), to, c.index(0), column, count);
  });
}

/// Calls `body` for each query head that reads the keys.
void StepEmitter::forHeads(Value keyHead, llvm::function_ref<void()> body) {
  auto select = [&](Value member) {
    row = member;
    c.setHead(keyHead, member);
    body();
  };
  if (c.groupSize() == 1)
    return select(c.index(0));
  c.loop(0, c.groupSize(), 1, select);
  c.setHead(keyHead, c.index(0));
}

void StepEmitter::emitKeyHead(Value keyHead) {
  c.setHead(keyHead, c.index(0));
  store(matrixOf(op.getK()), matrixOf(op.getKCache()));
  store(matrixOf(op.getV()), matrixOf(op.getVCache()));
  forHeads(keyHead, [&] {
    PackedMatrix query = {first(q), q.stride};
    c.pack(matrixOf(op.getQ()), query, c.index(1), 1, c.scale);
  });
  int64_t heads = c.groupSize();
  c.fill(out, heads, out.stride, 0);
  c.fill(sum, heads, sum.stride, 0);
  c.fill(maximum, heads, maximum.stride,
         c.type.isF64() ? std::numeric_limits<double>::lowest()
                        : std::numeric_limits<float>::lowest());
  Value begin = c.index(0), end = c.add(position, 1);
  if (std::optional<int64_t> window = op.getWindow())
    begin = c.max(begin, c.sub(end, c.index(*window)));
  c.loop(begin, end, blockKeys, [&](Value firstKey) {
    forHeads(keyHead, [&] { emitBlock(firstKey); });
  });
  forHeads(keyHead, [&] { emitResult(); });
}

void StepEmitter::emit(Value begin, Value end) {
  position = c.loadPosition(op.getAt());
  c.loop(begin, end, 1, [&](Value keyHead) { emitKeyHead(keyHead); });
}

namespace {

class StepForm : public CpuAttentionForm {
  TilesAttr planTiles(AttentionPlanner planner) const override;

  void emitTiles(AttentionCode &code, Value begin, Value end) const override {
    StepEmitter(code, cast<AttentionStepOp>(code.op)).emit(begin, end);
  }
};

} // namespace

/// A longer context needs no more scratch memory.
TilesAttr StepForm::planTiles(AttentionPlanner planner) const {
  int64_t keys = planner.pad(
      std::min(planner.shape.keys, planner.get(Threshold::StepKeys)));
  return planner.makeTiles(planner.keyHeads, 1, TileUnit::Heads, keys);
}

PP_KERNEL_FORM(CpuForm, AttentionStep, StepForm)
