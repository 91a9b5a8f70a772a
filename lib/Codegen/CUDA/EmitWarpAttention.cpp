//===- EmitWarpAttention.cpp - Attention by tensor cores ------------------===//
//
// As EmitAttention.cpp, with products of bf16 by warps. A warp has the scores
// of its rows in registers, and, rounded, they are an operand of the second
// product: only operands lie in shared memory.
//
//===----------------------------------------------------------------------===//

#include "WarpAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

class WarpForwardEmitter {
public:
  WarpForwardEmitter(WarpAttention &code, AttentionOp op)
      : c(code), op(op), halves(2 * c.fragments),
        chunks(c.tile.columns / kProductDepth) {}

  void emit();

private:
  SmallVector<Value> emitKeys(Value firstKey, bool isMasked, ValueRange state);
  SmallVector<SmallVector<Value>> emitScores(Value firstKey, bool isMasked);
  void emitResults(ArrayRef<Value> state);

  WarpAttention &c;
  AttentionOp op;
  int64_t halves; ///< the rows of a thread
  int64_t chunks; ///< of 16 keys
  Value firstQuery;
  SmallVector<Value> queries;
};

} // namespace

/// Returns 16 columns at a time, as WarpAttention::multiply does.
SmallVector<SmallVector<Value>> WarpForwardEmitter::emitScores(Value firstKey,
                                                               bool isMasked) {
  SmallVector<SmallVector<Value>> scores;
  Value factor = c.constant(c.scale);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value first = c.index(chunk * kProductDepth);
    scores.push_back(c.multiply(queries, c.tile.rowQK, c.tile.columnQK, first));
    for (auto [i, score] : llvm::enumerate(scores.back())) {
      Value column =
          c.add(c.getColumn(), c.index(i / 4 % 2 * kProductColumns + i % 2));
      Value key = c.add(firstKey, c.add(first, column));
      Value query = c.add(firstQuery, c.getRow(i / 8, i / 2 % 2));
      score = c.scores.change(c.mulF(score, factor), query, key);
      if (!isMasked)
        continue;
      Value isSeen = c.both(c.scores.isKey(key), c.scores.isSeen(query, key));
      if (isSeen)
        score = c.select(isSeen, score, c.constant(-kInfinity));
    }
  }
  return scores;
}

/// `state`: the maxima, the sums of this thread's exponentials, the outputs.
SmallVector<Value> WarpForwardEmitter::emitKeys(Value firstKey, bool isMasked,
                                                ValueRange state) {
  SmallVector<Value> next(state);
  auto maxima = MutableArrayRef(next).take_front(halves);
  auto sums = MutableArrayRef(next).slice(halves, halves);
  auto out = MutableArrayRef(next).drop_front(2 * halves);
  SmallVector<SmallVector<Value>> scores = emitScores(firstKey, isMasked);
  int64_t ofFragment = out.size() / c.fragments;
  for (int64_t half = 0; half < halves; ++half) {
    SmallVector<Value *> mine;
    for (SmallVector<Value> &chunk : scores)
      for (int64_t i : {0, 1, 4, 5})
        mine.push_back(&chunk[half / 2 * 8 + half % 2 * 2 + i]);
    Value most = *mine.front();
    for (Value *score : ArrayRef(mine).drop_front())
      most = c.maxF(most, *score);
    most = c.maxF(maxima[half], c.maxOver(4, most));
    Value base = c.scores.getBase(most);
    Value factor = c.exp(c.subF(maxima[half], base));
    maxima[half] = most;
    sums[half] = c.mulF(sums[half], factor);
    for (Value *score : mine) {
      *score = c.exp(c.subF(*score, base));
      sums[half] = c.addF(sums[half], *score);
    }
    for (int64_t i = half % 2 * 2; i < ofFragment; i += 4)
      for (Value &value : out.slice(half / 2 * ofFragment + i, 2))
        value = c.mulF(value, factor);
  }
  for (auto [chunk, p] : llvm::enumerate(scores))
    c.addWeighted(out, p, c.tile.columnV, c.index(chunk * kProductDepth));
  return next;
}

void WarpForwardEmitter::emitResults(ArrayRef<Value> state) {
  SmallVector<Value> factors;
  for (int64_t half = 0; half < halves; ++half) {
    Value sum = c.sumOver(4, state[halves + half]);
    factors.push_back(arith::DivFOp::create(c.builder, c.loc, c.constant(1),
                                            c.scores.getDivisor(sum)));
    Value query = c.add(firstQuery, c.getRow(half / 2, half % 2));
    c.emitIf(c.both(c.isFirstOfRow(), c.isBelow(query, c.index(c.queries))),
             [&] { c.scores.storeLse(state[half], sum, op.getLse(), query); });
  }
  c.storeSums(state.drop_front(2 * halves), factors, op.getOut(), firstQuery,
              c.queries, c.valueWidth);
}

void WarpForwardEmitter::emit() {
  int64_t parts = llvm::divideCeil(c.queries, c.tile.rows);
  c.setPart(parts);
  // Causal tiles with most keys first.
  firstQuery = c.mul(c.sub(c.index(parts - 1), c.part), c.tile.rows);
  SmallVector<Value> fetched =
      c.fetch(op.getQ(), firstQuery, c.queries, c.queryWidth, c.tile.rowQK);
  ValueRange rest = fetched;
  c.put(rest, c.tile.rowQK);
  c.synchronizeBlock();
  queries = c.holdRows(c.tile.rowQK);
  SmallVector<Value> state(halves, c.constant(-kInfinity));
  state.append(halves, c.constant(0));
  state.append(c.fillSums(c.tile.columnV));
  state = c.sweepColumns(
      c.getKeyRanges(firstQuery), state,
      [&](Value first) {
        SmallVector<Value> fetched =
            c.fetch(op.getK(), first, c.keys, c.queryWidth, c.tile.columnQK);
        fetched.append(
            c.fetch(op.getV(), first, c.keys, c.valueWidth, c.tile.columnV));
        return fetched;
      },
      [&](ValueRange fetched) {
        c.put(fetched, c.tile.columnQK);
        c.put(fetched, c.tile.columnV);
      },
      [&](Value firstKey, bool isMasked, ValueRange values) {
        return emitKeys(firstKey, isMasked, values);
      });
  emitResults(state);
}

void pp::emitWarpAttention(WarpAttention &code, AttentionOp op) {
  WarpForwardEmitter(code, op).emit();
}
