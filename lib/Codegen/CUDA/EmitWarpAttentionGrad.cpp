//===- EmitWarpAttentionGrad.cpp - Its gradients, by tensor cores ---------===//
//
// As EmitAttentionGrad.cpp. Blocks of keys compute Sᵀ = K Qᵀ and dPᵀ = V dOᵀ,
// so that the rows of a warp are those of its results, too.
//
//===----------------------------------------------------------------------===//

#include "WarpAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

using namespace mlir;
using namespace mlir::pp;

/// The numbers of a fragment of 16 rows × 16 columns that a thread has.
static constexpr int64_t kNumbers = 8;

namespace {

/// The operands of the first products: q and dO of queries, k and v of keys.
struct Operands {
  Value qk, v;
  int64_t count; ///< their rows
};

/// What P and dS of a query follow from.
struct QueryNumbers {
  Value maximum, logSum, delta;
};

/// P and dS of 16 columns of scores.
struct Weights {
  SmallVector<Value> p, ds;
};

class WarpGradEmitter {
public:
  WarpGradEmitter(WarpAttention &code, AttentionGradOp op)
      : c(code), op(op), ofQueries{op.getQ(), op.getDout(), code.queries},
        ofKeys{op.getK(), op.getV(), code.keys} {}

  void emit();

private:
  void emitKeys();
  void emitQueries();
  SmallVector<Value> fetchRows(const Operands &operands);
  SmallVector<Value> fetchColumns(const Operands &operands, Value first);
  void putRows(ValueRange fetched);
  void putColumns(ValueRange fetched);
  SmallVector<Value>
  sweep(const Operands &columns, ArrayRef<ColumnRange> ranges, ValueRange state,
        llvm::function_ref<SmallVector<Value>(Value, Value, bool, ValueRange)>
            body);
  QueryNumbers loadNumbers(Value query);
  Weights emitWeights(Value tile, Value first, bool isMasked,
                      ArrayRef<QueryNumbers> queries);

  WarpAttention &c;
  AttentionGradOp op;
  Operands ofQueries, ofKeys;
  bool areRowsKeys = false;
  Value firstRow;                   ///< of the block's
  Value endKey;                     ///< of those that queries may see
  SmallVector<Value> heldQK, heldV; ///< fragments of the warp's rows
};

} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// With the numbers of queries.
SmallVector<Value> WarpGradEmitter::fetchRows(const Operands &operands) {
  SmallVector<Value> fetched = c.fetch(operands.qk, firstRow, operands.count,
                                       c.queryWidth, c.tile.rowQK);
  fetched.append(
      c.fetch(operands.v, firstRow, operands.count, c.valueWidth, c.tile.rowV));
  if (&operands == &ofQueries)
    fetched.append(c.fetchNumbers(firstRow, c.tile.rows));
  return fetched;
}

SmallVector<Value> WarpGradEmitter::fetchColumns(const Operands &operands,
                                                 Value first) {
  SmallVector<Value> fetched = c.fetch(operands.qk, first, operands.count,
                                       c.queryWidth, c.tile.columnQK);
  fetched.append(
      c.fetch(operands.v, first, operands.count, c.valueWidth, c.tile.columnV));
  if (&operands == &ofQueries)
    fetched.append(c.fetchNumbers(first, c.tile.columns));
  return fetched;
}

void WarpGradEmitter::putRows(ValueRange fetched) {
  c.put(fetched, c.tile.rowQK);
  c.put(fetched, c.tile.rowV);
  if (!fetched.empty())
    c.putNumbers(fetched, c.tile.rows);
}

void WarpGradEmitter::putColumns(ValueRange fetched) {
  c.put(fetched, c.tile.columnQK);
  c.put(fetched, c.tile.columnV);
  if (!fetched.empty())
    c.putNumbers(fetched, c.tile.columns);
}

/// Emits `body` for 16 columns at a time: those of a tile, from which on, and
/// whether some rows do not see all of them.
SmallVector<Value> WarpGradEmitter::sweep(
    const Operands &columns, ArrayRef<ColumnRange> ranges, ValueRange state,
    llvm::function_ref<SmallVector<Value>(Value, Value, bool, ValueRange)>
        body) {
  return c.sweepColumns(
      ranges, state, [&](Value first) { return fetchColumns(columns, first); },
      [&](ValueRange fetched) { putColumns(fetched); },
      [&](Value tile, bool isMasked, ValueRange values) {
        return c.loop(c.index(0), c.index(c.tile.columns), kProductDepth,
                      values, [&](Value first, ValueRange values) {
                        return body(tile, first, isMasked, values);
                      });
      });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// `query`: in the tile.
QueryNumbers WarpGradEmitter::loadNumbers(Value query) {
  return {c.loadNumber(c.tile.maximum, query),
          c.loadNumber(c.tile.logSum, query),
          c.loadNumber(c.tile.delta, query)};
}

/// Emits P and dS of 16 columns of a tile, from `first` on. `queries`: of each
/// number. `isMasked`: some rows may not see all columns.
Weights WarpGradEmitter::emitWeights(Value tile, Value first, bool isMasked,
                                     ArrayRef<QueryNumbers> queries) {
  Weights weights;
  weights.p = c.multiply(heldQK, c.tile.rowQK, c.tile.columnQK, first);
  weights.ds = c.multiply(heldV, c.tile.rowV, c.tile.columnV, first);
  Value factor = c.constant(c.scale);
  for (int64_t i = 0; i < kNumbers; ++i) {
    Value &p = weights.p[i], &ds = weights.ds[i];
    Value row = c.add(firstRow, c.getRow(0, i / 2 % 2));
    Value column = c.add(
        tile, c.add(first, c.add(c.getColumn(),
                                 c.index(i / 4 * kProductColumns + i % 2))));
    Value query = areRowsKeys ? column : row, key = areRowsKeys ? row : column;
    Value slope;
    Value score = c.scores.change(c.mulF(p, factor), query, key, &slope);
    p = c.exp(c.subF(c.subF(score, queries[i].maximum), queries[i].logSum));
    Value isSeen;
    if (isMasked)
      isSeen = c.scores.isSeen(query, key);
    if (isMasked && !areRowsKeys)
      isSeen = c.both(isSeen, c.scores.isKey(key));
    if (areRowsKeys && c.scores.change())
      // Its score may be so large that P is infinite, and P times 0 no number.
      isSeen = c.both(isSeen, c.scores.isQuery(query));
    if (isSeen)
      p = c.select(isSeen, p, c.constant(0));
    ds = c.mulF(p, c.subF(ds, queries[i].delta));
    if (!areRowsKeys && op.getDbias())
      c.emitIf(c.both(c.scores.isQuery(query), c.isBelow(key, endKey)),
               [&] { c.store(ds, op.getDbias(), query, key); });
    if (slope)
      ds = c.mulF(ds, slope);
  }
  return weights;
}

/// dK and dV of a tile of keys.
void WarpGradEmitter::emitKeys() {
  areRowsKeys = true;
  putRows(fetchRows(ofKeys));
  c.synchronizeBlock();
  heldQK = c.holdRows(c.tile.rowQK);
  heldV = c.holdRows(c.tile.rowV);
  SmallVector<ColumnRange> ranges = c.getQueryRanges(firstRow);
  SmallVector<Value> sums = c.fillSums(c.tile.columnQK);
  size_t ofK = sums.size();
  sums.append(c.fillSums(c.tile.columnV));
  sums = c.forGroup(sums, [&](ValueRange before) {
    return sweep(
        ofQueries, ranges, before,
        [&](Value tile, Value first, bool isMasked, ValueRange values) {
          SmallVector<Value> next(values);
          SmallVector<QueryNumbers> queries;
          for (int64_t i = 0; i < kNumbers; ++i) {
            Value column =
                c.add(first, c.add(c.getColumn(),
                                   c.index(i / 4 * kProductColumns + i % 2)));
            queries.push_back(loadNumbers(column));
          }
          Weights weights = emitWeights(tile, first, isMasked, queries);
          auto dk = MutableArrayRef(next).take_front(ofK);
          auto dv = MutableArrayRef(next).drop_front(ofK);
          c.addWeighted(dk, weights.ds, c.tile.columnQK, first);
          c.addWeighted(dv, weights.p, c.tile.columnV, first);
          return next;
        });
  });
  ArrayRef all = sums;
  c.storeSums(all.take_front(ofK), SmallVector<Value>(2, c.constant(c.scale)),
              op.getDk(), firstRow, c.keys, c.queryWidth);
  c.storeSums(all.drop_front(ofK), {}, op.getDv(), firstRow, c.keys,
              c.valueWidth);
}

/// dQ of a tile of queries, and the gradient of the bias.
void WarpGradEmitter::emitQueries() {
  areRowsKeys = false;
  putRows(fetchRows(ofQueries));
  c.synchronizeBlock();
  heldQK = c.holdRows(c.tile.rowQK);
  heldV = c.holdRows(c.tile.rowV);
  SmallVector<QueryNumbers> queries;
  for (int64_t i = 0; i < kNumbers; ++i)
    queries.push_back(loadNumbers(c.getRow(0, i / 2 % 2)));
  SmallVector<ColumnRange> ranges = c.getKeyRanges(firstRow);
  SeenRange seen{ranges.front().begin, ranges.back().end};
  endKey = seen.end;
  SmallVector<Value> sums =
      sweep(ofKeys, ranges, c.fillSums(c.tile.columnQK),
            [&](Value tile, Value first, bool isMasked, ValueRange values) {
              Weights weights = emitWeights(tile, first, isMasked, queries);
              SmallVector<Value> next(values);
              c.addWeighted(next, weights.ds, c.tile.columnQK, first);
              return next;
            });
  c.storeSums(sums, SmallVector<Value>(2, c.constant(c.scale)), op.getDq(),
              firstRow, c.queries, c.queryWidth);
  if (op.getDbias())
    c.scores.clearOutside(op.getDbias(), firstRow, c.tile.rows, seen,
                          c.tile.getThreads());
}

void WarpGradEmitter::emit() {
  int64_t rows = c.tile.rows, keyTiles = llvm::divideCeil(c.keys, rows);
  int64_t queryTiles = llvm::divideCeil(c.queries, rows);
  c.setPartOfGroup(keyTiles + c.groupSize() * queryTiles);
  auto branch =
      scf::IfOp::create(c.builder, c.loc, c.isBelow(c.part, c.index(keyTiles)),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(branch.thenBlock());
  firstRow = c.mul(c.part, rows);
  emitKeys();
  c.builder.setInsertionPointToStart(branch.elseBlock());
  Value part = c.splitGroup(c.sub(c.part, c.index(keyTiles)), queryTiles);
  firstRow = c.mul(part, rows);
  emitQueries();
}

void pp::emitWarpAttentionGrad(WarpAttention &code, AttentionGradOp op) {
  WarpGradEmitter(code, op).emit();
}
