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
  Weights emitWeights(Value first, ArrayRef<Value> lse, ArrayRef<Value> delta,
                      llvm::function_ref<Value(Value, Value)> isSeen);

  WarpAttention &c;
  AttentionGradOp op;
  Operands ofQueries, ofKeys;
  Value firstRow;                   ///< of the block's
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

/// Emits the scores of 16 columns of the tile, from `first` on. `lse`, `delta`:
/// of the query of each number. `isSeen`, of a row and a column of the tile,
/// may return null for true.
Weights
WarpGradEmitter::emitWeights(Value first, ArrayRef<Value> lse,
                             ArrayRef<Value> delta,
                             llvm::function_ref<Value(Value, Value)> isSeen) {
  Weights weights;
  weights.p = c.multiply(heldQK, c.tile.rowQK, c.tile.columnQK, first);
  weights.ds = c.multiply(heldV, c.tile.rowV, c.tile.columnV, first);
  Value factor = c.constant(c.scale / c.unit);
  for (int64_t i = 0; i < kNumbers; ++i) {
    Value &p = weights.p[i], &ds = weights.ds[i];
    p = c.exp(c.subF(c.mulF(p, factor), lse[i]));
    Value column =
        c.add(c.getColumn(), c.index(i / 4 * kProductColumns + i % 2));
    if (Value seen = isSeen(c.getRow(0, i / 2 % 2), c.add(first, column)))
      p = c.select(seen, p, c.constant(0));
    ds = c.mulF(p, c.subF(ds, delta[i]));
  }
  return weights;
}

/// dK and dV of a tile of keys.
void WarpGradEmitter::emitKeys() {
  putRows(fetchRows(ofKeys));
  c.synchronizeBlock();
  heldQK = c.holdRows(c.tile.rowQK);
  heldV = c.holdRows(c.tile.rowV);
  Value zero = c.index(0), end = c.index(c.queries);
  SmallVector<ColumnRange> ranges;
  if (c.isCausal) {
    // Queries before the tile see no key of it, those after it all keys.
    Value next = c.add(firstRow, c.index(c.tile.columns));
    ranges = {{firstRow, c.min(next, end), true}, {next, end, false}};
  } else {
    ranges = {{zero, end, false}};
  }
  SmallVector<Value> sums = c.fillSums(c.tile.columnQK);
  size_t ofK = sums.size();
  sums.append(c.fillSums(c.tile.columnV));
  sums = sweep(
      ofQueries, ranges, sums,
      [&](Value tile, Value first, bool isMasked, ValueRange values) {
        SmallVector<Value> next(values), lse, delta;
        for (int64_t i = 0; i < kNumbers; ++i) {
          Value column =
              c.add(first, c.add(c.getColumn(),
                                 c.index(i / 4 * kProductColumns + i % 2)));
          lse.push_back(c.loadNumber(c.tile.lse, column));
          delta.push_back(c.loadNumber(c.tile.delta, column));
        }
        Weights weights = emitWeights(
            first, lse, delta, [&](Value row, Value column) -> Value {
              if (!isMasked)
                return Value();
              Value query = c.add(tile, column);
              return c.isBelow(c.add(firstRow, row), c.add(query, c.index(1)));
            });
        auto dk = MutableArrayRef(next).take_front(ofK);
        auto dv = MutableArrayRef(next).drop_front(ofK);
        c.addWeighted(dk, weights.ds, c.tile.columnQK, first);
        c.addWeighted(dv, weights.p, c.tile.columnV, first);
        return next;
      });
  ArrayRef all = sums;
  c.storeSums(all.take_front(ofK), SmallVector<Value>(2, c.constant(c.scale)),
              op.getDk(), firstRow, c.keys, c.queryWidth);
  c.storeSums(all.drop_front(ofK), {}, op.getDv(), firstRow, c.keys,
              c.valueWidth);
}

/// dQ of a tile of queries.
void WarpGradEmitter::emitQueries() {
  putRows(fetchRows(ofQueries));
  c.synchronizeBlock();
  heldQK = c.holdRows(c.tile.rowQK);
  heldV = c.holdRows(c.tile.rowV);
  SmallVector<Value> lse, delta;
  for (int64_t i = 0; i < kNumbers; ++i) {
    Value row = c.getRow(0, i / 2 % 2);
    lse.push_back(c.loadNumber(c.tile.lse, row));
    delta.push_back(c.loadNumber(c.tile.delta, row));
  }
  Value zero = c.index(0), end = c.index(c.keys);
  int64_t columns = c.tile.columns;
  SmallVector<ColumnRange> ranges;
  if (c.isCausal) {
    // As many columns as rows: one tile has keys that not all rows see.
    Value next = c.min(c.add(firstRow, c.index(columns)), end);
    ranges = {{zero, firstRow, false}, {firstRow, next, true}};
  } else {
    Value whole = c.index(llvm::alignDown(c.keys, columns));
    if (c.keys >= columns)
      ranges.push_back({zero, whole, false});
    if (c.keys % columns != 0)
      ranges.push_back({whole, end, true});
  }
  SmallVector<Value> sums =
      sweep(ofKeys, ranges, c.fillSums(c.tile.columnQK),
            [&](Value tile, Value first, bool isMasked, ValueRange values) {
              Weights weights = emitWeights(
                  first, lse, delta, [&](Value row, Value column) -> Value {
                    if (!isMasked)
                      return Value();
                    Value last = end;
                    if (c.isCausal)
                      last = c.add(c.add(firstRow, row), c.index(1));
                    return c.isBelow(c.add(tile, column), last);
                  });
              SmallVector<Value> next(values);
              c.addWeighted(next, weights.ds, c.tile.columnQK, first);
              return next;
            });
  c.storeSums(sums, SmallVector<Value>(2, c.constant(c.scale)), op.getDq(),
              firstRow, c.queries, c.queryWidth);
}

void WarpGradEmitter::emit() {
  int64_t rows = c.tile.rows, keyTiles = llvm::divideCeil(c.keys, rows);
  c.setPart(keyTiles + llvm::divideCeil(c.queries, rows));
  auto branch =
      scf::IfOp::create(c.builder, c.loc, c.isBelow(c.part, c.index(keyTiles)),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(branch.thenBlock());
  firstRow = c.mul(c.part, rows);
  emitKeys();
  c.builder.setInsertionPointToStart(branch.elseBlock());
  firstRow = c.mul(c.sub(c.part, c.index(keyTiles)), rows);
  emitQueries();
}

void pp::emitWarpAttentionGrad(WarpAttention &code, AttentionGradOp op) {
  WarpGradEmitter(code, op).emit();
}
