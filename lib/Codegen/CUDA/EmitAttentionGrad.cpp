//===- EmitAttentionGrad.cpp - Gradients of attention, on a GPU -----------===//
//
// With D = rowsum(dO O):
//
//   P = exp(scale Q Kᵀ - m - log l),  dS = P (dO Vᵀ - D),
//   dV = Pᵀ dO,  dK = scale dSᵀ Q,  dQ = scale dS K
//
// where S = scale Q Kᵀ is changed and partly hidden on the way
// (DeviceScores.h). dS before the cap is the gradient of the bias.
//
// A block has a tile of keys, takes all queries and writes dK and dV; or it has
// a tile of queries, takes all keys and writes dQ. So nothing is added by two
// blocks, and the price is that S and dO Vᵀ are computed twice: seven matmuls.
// Heads of queries that read the same head of keys are taken one after the
// other by a block that has keys.
//
//===----------------------------------------------------------------------===//

#include "CudaAttentionForm.h"
#include "DeviceScores.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class GradEmitter {
public:
  GradEmitter(AttentionThread &code, AttentionGradOp op)
      : c(code), op(op), scores(code, c.tile.queries, c.tile.keys),
        queryWidths(llvm::divideCeil(c.queryWidth, kAttentionColumns)),
        valueWidths(llvm::divideCeil(c.valueWidth, kAttentionColumns)) {}

  void emit();

private:
  void emitKeys(Value firstKey);
  void emitQueries(Value firstQuery);
  void copyQueries(Value firstQuery);
  void copyKeys(Value firstKey);
  /// Stores P and dS of the current tiles, of rows × columns; and the gradient
  /// of the bias, if rows are queries, for keys before `end`.
  void emitScores(bool areRowsKeys, Value firstQuery, Value firstKey,
                  Value end);

  AttentionThread &c;
  AttentionGradOp op;
  DeviceScores scores;
  int64_t queryWidths, valueWidths; ///< of a thread
};

} // namespace

/// Copies a tile of queries: q, scaled, dO, both parts of lse, and D.
void GradEmitter::copyQueries(Value firstQuery) {
  c.copyRows(op.getQ(), firstQuery, c.queries, c.queryWidth, c.tile.q, c.scale);
  c.copyRows(op.getDout(), firstQuery, c.queries, c.valueWidth, c.tile.dout);
  for (int64_t i = 0; i < c.tile.queries / kThreadRows; ++i) {
    Value inTile = c.getRow(i), query = c.add(firstQuery, inTile);
    Value isQuery = c.isBelow(query, c.index(c.queries));
    Value delta = c.constant(0);
    for (int64_t j = 0; j < valueWidths; ++j) {
      Value column = c.getColumn(j), isInside = isQuery;
      if ((j + 1) * kAttentionColumns > c.valueWidth)
        isInside = c.both(isInside, c.isBelow(column, c.index(c.valueWidth)));
      delta = c.addF(delta,
                     c.mulF(c.loadIf(isInside, op.getOut(), query, column),
                            c.loadIf(isInside, op.getDout(), query, column)));
    }
    delta = c.sumOverRow(delta);
    Value maximum = c.loadIf(isQuery, op.getLse(), query, c.index(0));
    Value logSum = c.loadIf(isQuery, op.getLse(), query, c.index(1));
    c.emitIf(c.isBelow(c.getColumn(0), c.index(1)), [&] {
      c.storeShared(delta, c.tile.delta, c.index(0), inTile);
      c.storeShared(maximum, c.tile.lse, c.index(0), inTile);
      c.storeShared(logSum, c.tile.lse, c.index(1), inTile);
    });
  }
}

void GradEmitter::copyKeys(Value firstKey) {
  c.copyRows(op.getK(), firstKey, c.keys, c.queryWidth, c.tile.k);
  c.copyRows(op.getV(), firstKey, c.keys, c.valueWidth, c.tile.v);
}

void GradEmitter::emitScores(bool areRowsKeys, Value firstQuery, Value firstKey,
                             Value end) {
  AttentionTile &tile = c.tile;
  int64_t ofRows = areRowsKeys ? tile.keys : tile.queries;
  int64_t ofColumns = areRowsKeys ? tile.queries : tile.keys;
  int64_t rows = ofRows / kThreadRows, columns = ofColumns / kAttentionColumns;
  Fragment zeros = c.fill(rows, columns, 0);
  Fragment products = areRowsKeys
                          ? c.addProduct(zeros, tile.k, tile.q, c.queryWidth)
                          : c.addProduct(zeros, tile.q, tile.k, c.queryWidth);
  Fragment gradients =
      areRowsKeys ? c.addProduct(zeros, tile.v, tile.dout, c.valueWidth)
                  : c.addProduct(zeros, tile.dout, tile.v, c.valueWidth);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      Value row = c.getRow(i), column = c.getColumn(j);
      Value inQueries = areRowsKeys ? column : row;
      Value query = c.add(firstQuery, inQueries);
      Value key = c.add(firstKey, areRowsKeys ? row : column);
      Value exists = c.both(c.isBelow(query, c.index(c.queries)),
                            c.isBelow(key, c.index(c.keys)));
      Value isSeen = c.both(exists, scores.isSeen(query, key));
      Value maximum = c.loadShared(tile.lse, c.index(0), inQueries);
      Value logSum = c.loadShared(tile.lse, c.index(1), inQueries);
      Value delta = c.loadShared(tile.delta, c.index(0), inQueries);
      Value slope;
      Value score = scores.change(products.at(i, j), query, key, &slope);
      Value p = c.select(isSeen, c.exp(c.subF(c.subF(score, maximum), logSum)),
                         c.constant(0));
      Value ds = c.mulF(p, c.subF(gradients.at(i, j), delta));
      if (areRowsKeys)
        c.storeShared(p, tile.p, row, column);
      else if (op.getDbias())
        c.emitIf(
            c.both(c.isBelow(query, c.index(c.queries)), c.isBelow(key, end)),
            [&] { c.store(ds, op.getDbias(), query, key); });
      c.storeShared(slope ? c.mulF(ds, slope) : ds, tile.ds, row, column);
    }
  // The threads of a row are of one warp.
  c.synchronizeWarp();
}

/// dK and dV of a tile of keys.
void GradEmitter::emitKeys(Value firstKey) {
  copyKeys(firstKey);
  int64_t rows = c.tile.keys / kThreadRows;
  int64_t ofK = rows * queryWidths;
  SeenRange seeing = scores.getQueries(firstKey, c.tile.keys, c.tile.queries);
  auto split = [&](ValueRange values) -> std::pair<Fragment, Fragment> {
    return {{rows, queryWidths, SmallVector<Value>(values.take_front(ofK))},
            {rows, valueWidths, SmallVector<Value>(values.drop_front(ofK))}};
  };
  SmallVector<Value> sums = c.forGroup(
      c.fill(rows, queryWidths + valueWidths, 0).values,
      [&](ValueRange before) {
        return c.loop(
            seeing.begin, seeing.end, c.tile.queries, before,
            [&](Value firstQuery, ValueRange values) {
              auto [dk, dv] = split(values);
              // All have read the tiles before.
              c.synchronizeBlock();
              copyQueries(firstQuery);
              c.synchronizeBlock();
              emitScores(/*areRowsKeys=*/true, firstQuery, firstKey, Value());
              dk = c.addWeighted(dk, c.tile.ds, c.tile.q, c.tile.queries);
              dv = c.addWeighted(dv, c.tile.p, c.tile.dout, c.tile.queries);
              SmallVector<Value> next = dk.values;
              next.append(dv.values);
              return next;
            });
      });
  auto [dk, dv] = split(sums);
  // q was scaled.
  c.storeRows(dk, op.getDk(), firstKey, c.keys, c.queryWidth, Value());
  c.storeRows(dv, op.getDv(), firstKey, c.keys, c.valueWidth, Value());
}

/// dQ of a tile of queries, and the gradient of the bias.
void GradEmitter::emitQueries(Value firstQuery) {
  copyQueries(firstQuery);
  int64_t rows = c.tile.queries / kThreadRows;
  SeenRange seen = scores.getKeys(firstQuery, c.tile.queries, c.tile.keys);
  Fragment dq = c.fill(rows, queryWidths, 0);
  dq.values = c.loop(
      seen.begin, seen.end, c.tile.keys, dq.values,
      [&](Value firstKey, ValueRange values) {
        // All have read the tiles before.
        c.synchronizeBlock();
        copyKeys(firstKey);
        c.synchronizeBlock();
        emitScores(/*areRowsKeys=*/false, firstQuery, firstKey, seen.end);
        Fragment sum{rows, queryWidths, SmallVector<Value>(values)};
        return c.addWeighted(sum, c.tile.ds, c.tile.k, c.tile.keys).values;
      });
  c.storeRows(dq, op.getDq(), firstQuery, c.queries, c.queryWidth,
              c.constant(c.scale));
  if (op.getDbias())
    scores.clearOutside(op.getDbias(), firstQuery, c.tile.queries, seen,
                        kAttentionThreads);
}

void GradEmitter::emit() {
  int64_t ofKeys = llvm::divideCeil(c.keys, c.tile.keys);
  int64_t ofQueries = llvm::divideCeil(c.queries, c.tile.queries);
  c.setPartOfGroup(ofKeys + c.groupSize() * ofQueries);
  Value hasKeys = c.isBelow(c.part, c.index(ofKeys));
  auto branch = scf::IfOp::create(c.builder, c.loc, hasKeys,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(branch.thenBlock());
  emitKeys(c.mul(c.part, c.tile.keys));
  c.builder.setInsertionPointToStart(branch.elseBlock());
  Value part = c.splitGroup(c.sub(c.part, c.index(ofKeys)), ofQueries);
  emitQueries(c.mul(part, c.tile.queries));
}

namespace {

class GradForm : public CudaAttentionForm {
  int64_t countTiles(const AttentionShape &shape, int64_t queries,
                     int64_t keys) const override {
    return shape.keyHeads * llvm::divideCeil(shape.keys, keys) +
           shape.heads * llvm::divideCeil(shape.queries, queries);
  }
  void emitTile(AttentionThread &code) const override {
    GradEmitter(code, cast<AttentionGradOp>(code.op)).emit();
  }
  void emitTile(WarpAttention &code) const override {
    emitWarpAttentionGrad(code, cast<AttentionGradOp>(code.op));
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, AttentionGrad, GradForm)
