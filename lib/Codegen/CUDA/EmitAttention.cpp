//===- EmitAttention.cpp - Attention in tiles, on a GPU -------------------===//
//
// softmax(scale q kᵀ) v: a block has a tile of queries, and takes tiles of
// keys:
//
//   S = scale Q Kᵀ,  m' = max(m, rowmax S),  P = exp(S - m'),
//   l = l exp(m - m') + rowsum P,  O = O exp(m - m') + P V
//
// and after the last out = O / l, lse = (m, log l). S is changed and partly
// hidden on the way (DeviceScores.h). Tiles that no query sees are left out.
//
//===----------------------------------------------------------------------===//

#include "CudaAttentionForm.h"
#include "DeviceScores.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

class ForwardEmitter {
public:
  ForwardEmitter(AttentionThread &code, AttentionOp op)
      : c(code), op(op), scores(code, c.tile.queries, c.tile.keys),
        rows(c.tile.queries / kThreadRows),
        columns(c.tile.keys / kAttentionColumns),
        widths(llvm::divideCeil(c.valueWidth, kAttentionColumns)) {}

  void emit();

private:
  SmallVector<Value> emitKeys(Value firstKey, ValueRange state);
  Fragment emitScores(Value firstKey);
  void emitResults(Fragment maxima, Fragment sums, Fragment out);
  SmallVector<Fragment> split(ValueRange state);

  AttentionThread &c;
  AttentionOp op;
  DeviceScores scores;
  int64_t rows, columns, widths; ///< of a thread
  Value firstQuery;
};

} // namespace

/// The maxima, the sums of this thread's exponentials, and the outputs.
SmallVector<Fragment> ForwardEmitter::split(ValueRange state) {
  auto take = [&](int64_t from, int64_t count) {
    return SmallVector<Value>(state.slice(from, count));
  };
  return {{rows, 1, take(0, rows)},
          {rows, 1, take(rows, rows)},
          {rows, widths, take(2 * rows, rows * widths)}};
}

Fragment ForwardEmitter::emitScores(Value firstKey) {
  Fragment values =
      c.addProduct(c.fill(rows, columns, 0), c.tile.q, c.tile.k, c.queryWidth);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      Value key = c.add(firstKey, c.getColumn(j));
      Value query = c.add(firstQuery, c.getRow(i));
      Value isSeen =
          c.both(c.isBelow(key, c.index(c.keys)), scores.isSeen(query, key));
      values.at(i, j) =
          c.select(isSeen, scores.change(values.at(i, j), query, key),
                   c.constant(-kInfinity));
    }
  return values;
}

SmallVector<Value> ForwardEmitter::emitKeys(Value firstKey, ValueRange state) {
  SmallVector<Fragment> parts = split(state);
  Fragment &maxima = parts[0], &sums = parts[1], &out = parts[2];
  // All have read the tiles before.
  c.synchronizeBlock();
  c.copyRows(op.getK(), firstKey, c.keys, c.queryWidth, c.tile.k);
  c.copyRows(op.getV(), firstKey, c.keys, c.valueWidth, c.tile.v);
  c.synchronizeBlock();
  Fragment values = emitScores(firstKey);
  for (int64_t i = 0; i < rows; ++i) {
    Value most = values.at(i, 0);
    for (int64_t j = 1; j < columns; ++j)
      most = c.maxF(most, values.at(i, j));
    most = c.maxF(maxima.at(i, 0), c.maxOverRow(most));
    Value base = scores.getBase(most);
    Value factor = c.exp(c.subF(maxima.at(i, 0), base));
    Value sum = c.mulF(sums.at(i, 0), factor);
    for (int64_t j = 0; j < columns; ++j) {
      Value p = c.exp(c.subF(values.at(i, j), base));
      c.storeShared(p, c.tile.p, c.getRow(i), c.getColumn(j));
      sum = c.addF(sum, p);
    }
    maxima.at(i, 0) = most;
    sums.at(i, 0) = sum;
    for (int64_t j = 0; j < widths; ++j)
      out.at(i, j) = c.mulF(out.at(i, j), factor);
  }
  // The threads of a row are of one warp.
  c.synchronizeWarp();
  out = c.addWeighted(out, c.tile.p, c.tile.v, c.tile.keys);
  SmallVector<Value> next = maxima.values;
  next.append(sums.values);
  next.append(out.values);
  return next;
}

void ForwardEmitter::emitResults(Fragment maxima, Fragment sums, Fragment out) {
  for (int64_t i = 0; i < rows; ++i) {
    Value sum = c.sumOverRow(sums.at(i, 0));
    Value divisor = scores.getDivisor(sum);
    for (int64_t j = 0; j < widths; ++j)
      out.at(i, j) =
          arith::DivFOp::create(c.builder, c.loc, out.at(i, j), divisor);
    Value query = c.add(firstQuery, c.getRow(i));
    Value writes = c.both(c.isBelow(query, c.index(c.queries)),
                          c.isBelow(c.getColumn(0), c.index(1)));
    c.emitIf(writes, [&] {
      scores.storeLse(maxima.at(i, 0), sum, op.getLse(), query);
    });
  }
  c.storeRows(out, op.getOut(), firstQuery, c.queries, c.valueWidth, Value());
}

void ForwardEmitter::emit() {
  int64_t parts = llvm::divideCeil(c.queries, c.tile.queries);
  c.setPart(parts);
  // Causal tiles with most keys first.
  Value part = c.sub(c.index(parts - 1), c.part);
  firstQuery = c.mul(part, c.tile.queries);
  c.copyRows(op.getQ(), firstQuery, c.queries, c.queryWidth, c.tile.q, c.scale);
  SeenRange seen = scores.getKeys(firstQuery, c.tile.queries, c.tile.keys);
  SmallVector<Value> state = c.fill(rows, 1, -kInfinity).values;
  state.append(c.fill(rows, 1 + widths, 0).values);
  state = c.loop(
      seen.begin, seen.end, c.tile.keys, state,
      [&](Value key, ValueRange values) { return emitKeys(key, values); });
  SmallVector<Fragment> fragments = split(state);
  emitResults(fragments[0], fragments[1], fragments[2]);
}

namespace {

class ForwardForm : public CudaAttentionForm {
  int64_t countTiles(const AttentionShape &shape, int64_t queries,
                     int64_t keys) const override {
    return shape.heads * llvm::divideCeil(shape.queries, queries);
  }
  void emitTile(AttentionThread &code) const override {
    ForwardEmitter(code, cast<AttentionOp>(code.op)).emit();
  }
  void emitTile(WarpAttention &code) const override {
    emitWarpAttention(code, cast<AttentionOp>(code.op));
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Attention, ForwardForm)
