//===- EmitAttentionBackward.cpp - Gradients of attention in blocks -------===//
//
// A tile is one head of keys of one row of the batch, with the query heads that
// read it. With the parts m and log l of lse, dO' = dO / l and
// D = rowsum(dO' O), for each block of queries and each block of keys
//
//   P = exp(scale Q Kᵀ - m),  dS = P (dO' Vᵀ - D),
//   dV += Pᵀ dO',  dK += scale dSᵀ Q,  dQ += scale dS K
//
// P is l times the probabilities: so no score is divided by l.
//
// Where the scores change after scale Q Kᵀ, dS is the gradient after the
// changes (dbias); before a soft cap it is dS times the cap's derivative. Pairs
// of blocks in which no query sees a key are not computed.
//
// The outer loop is over blocks of keys: dK and dV of a block stay in scratch
// memory. dQ is accumulated in the result, or in scratch memory if the result's
// type is narrower. If dQ is too large for that, a second pass with queries in
// the outer loop computes it.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "EmitAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the bytes of scratch memory for blocks of `block` queries and keys;
/// widths are those of packed rows.
static int64_t getBytesOfBlocks(int64_t block, int64_t queryWidth,
                                int64_t valueWidth, int64_t elementBytes) {
  return (5 * queryWidth + 3 * valueWidth + 2 * block + 3) * block *
         elementBytes;
}

namespace {

class BackwardEmitter {
public:
  BackwardEmitter(AttentionCode &code, AttentionGradOp op);
  void emit(Value begin, Value end);

private:
  /// Where dQ is accumulated.
  enum class Sum { Nowhere, Result, Scratch, Block };

  bool fitsQueries();
  void emitKeysOutside(Sum sum);
  void emitQueriesOutside();
  void packKeys(Value key);
  void selectQueries(Value query);
  void packQueries(Value query);
  void emitPair(bool wantsKeys, Sum sum);
  void emitPair(bool wantsKeys, Sum sum, ScoreMode mode);
  void emitScores(const PackedMatrix &a, const PackedMatrix &b, int64_t k,
                  const PackedMatrix &to, ScoreMode mode);
  void emitScoreGradients(ScoreMode mode);
  void storeBiasGradient(Value grad, Value row, Value column);
  void emitOfKeys(const PackedMatrix &weights, const PackedMatrix &b,
                  const PackedMatrix &to, ScoreMode mode);
  void emitOfQueries(Sum sum, ScoreMode mode);
  void addToResult();
  void clearSkipped(Sum sum);
  void clearRows(Value to, Value rows);
  void forMembers(llvm::function_ref<void(Value member)> body);
  Value getPackedRow(Value query);
  void storeRows(const PackedMatrix &from, Value to, Value row, Value count,
                 std::optional<double> factor = {});
  PackedMatrix rowsOf(const PackedMatrix &block, Value row) {
    return {c.at(block, row, c.index(0)), block.stride};
  }
  /// Returns the end of the keys that the rows of a group from `row` on see, up
  /// to a whole group of keys: matmuls that have keys as rows read such groups.
  Value getEndOfGroup(Value row) {
    Value last = c.add(row, c.groupRows - 1);
    return roundUp(c.min(seen.end, change.getEnd(last)));
  }
  Value roundUp(Value rows) {
    return c.mul(c.divideUp(rows, c.groupRows), c.groupRows);
  }

  AttentionCode &c;
  AttentionGradOp op;
  ScoreCode change;
  int64_t block; ///< keys, and queries, of a block
  /// Whether scratch memory holds the packed operands of all queries, or of one
  /// block.
  bool holdsQueries;
  /// For a block of keys.
  PackedMatrix k, kTransposed, vTransposed, dk, dv;
  /// For a block of queries, parts of the packed operands; q is scaled, and
  /// dout divided by l.
  PackedMatrix q, dout, dq, maximum, delta;
  PackedMatrix packedQ, packedDout, packedMaximum, packedDelta;
  /// Of a block of queries: 1 / l.
  PackedMatrix inverse;
  /// For a pair of blocks.
  PackedMatrix p, ds;
  /// dQ of all queries.
  PackedMatrix allDq;
  Value firstQuery, queryCount, firstKey, keyCount;
  /// The tile, and which of its query heads is the current one.
  Value tile, currentMember;
  /// The keys of the block that any of its queries sees.
  ScoreRange seen;
};

} // namespace

/// Returns whether a result is used.
static bool isNeeded(Value value) { return value && !value.use_empty(); }

BackwardEmitter::BackwardEmitter(AttentionCode &code, AttentionGradOp op)
    : c(code), op(op), change(code), block(c.tiles.getBlock()),
      holdsQueries(fitsQueries()) {
  change.allocate(block, block);
  k = c.allocate(block, c.queryWidth);
  kTransposed = c.allocate(c.pad(c.queryWidth), block);
  vTransposed = c.allocate(c.pad(c.valueWidth), block);
  dk = c.allocate(block, c.queryWidth);
  dv = c.allocate(block, c.valueWidth);
  dq = c.allocate(block, c.queryWidth);
  p = c.allocate(block, block);
  ds = c.allocate(block, block);
  int64_t packed =
      holdsQueries ? c.groupSize() * llvm::alignTo(c.queries, block) : block;
  packedQ = c.allocate(packed, c.queryWidth);
  packedDout = c.allocate(packed, c.valueWidth);
  packedMaximum = c.allocate(1, packed);
  packedDelta = c.allocate(1, packed);
  inverse = c.allocate(1, block);
}

/// Returns whether the packed operands of all queries fit into scratch memory.
bool BackwardEmitter::fitsQueries() {
  int64_t width = c.pad(c.queryWidth), valueWidth = c.pad(c.valueWidth);
  int64_t others = (c.groupSize() * llvm::alignTo(c.queries, block) - block) *
                   (width + valueWidth + 2) * c.getElementBytes();
  return getBytesOfBlocks(block, width, valueWidth, c.getElementBytes()) +
             others <=
         c.getScratchBytes();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void BackwardEmitter::packKeys(Value key) {
  firstKey = key;
  keyCount = c.min(c.index(block), c.sub(c.index(c.keys), key));
  change.startKeys(key, keyCount);
  c.pack(*c.getMatrix(op.getK(), key), k, keyCount, block);
  c.transpose(k, kTransposed, block, k.stride);
  // dv is not in use yet.
  c.pack(*c.getMatrix(op.getV(), key), dv, keyCount, block);
  c.transpose(dv, vTransposed, block, dv.stride);
}

/// Calls `body` for each query head of the tile, which is then the current one.
void BackwardEmitter::forMembers(llvm::function_ref<void(Value)> body) {
  auto select = [&](Value member) {
    currentMember = member;
    c.setHead(tile, member);
    body(member);
  };
  if (c.groupSize() == 1)
    return select(c.index(0));
  c.loop(0, c.groupSize(), 1, select);
  c.setHead(tile, c.index(0));
}

/// Returns the row of a query in what is kept for all queries of the tile.
Value BackwardEmitter::getPackedRow(Value query) {
  return c.add(c.mul(currentMember, llvm::alignTo(c.queries, block)), query);
}

/// Selects the block of queries from `query` on, which is packed.
void BackwardEmitter::selectQueries(Value query) {
  firstQuery = query;
  queryCount = c.min(c.index(block), c.sub(c.index(c.queries), query));
  change.startQueries(query, queryCount);
  Value row = holdsQueries ? getPackedRow(query) : c.index(0);
  q = rowsOf(packedQ, row);
  dout = rowsOf(packedDout, row);
  auto select = [&](const PackedMatrix &packed) {
    return PackedMatrix{c.at(packed, c.index(0), row), packed.stride};
  };
  maximum = select(packedMaximum);
  delta = select(packedDelta);
}

void BackwardEmitter::packQueries(Value query) {
  selectQueries(query);
  StridedMatrix out = *c.getMatrix(op.getOut(), query);
  StridedMatrix grads = *c.getMatrix(op.getDout(), query);
  c.pack(*c.getMatrix(op.getQ(), query), q, queryCount, block, c.scale);
  c.pack(grads, dout, queryCount, block);
  for (const PackedMatrix &numbers : {maximum, inverse, delta})
    c.fill(numbers, 1, c.pad(block), 0);
  c.loop(c.index(0), queryCount, 1, [&](Value row) {
    for (auto [part, to] : llvm::enumerate(std::array{maximum, inverse}))
      c.storeScalar(c.loadPart(op.getLse(), c.add(query, row), part),
                    c.at(to, c.index(0), row));
  });
  c.loop(0, block, c.width, [&](Value row) {
    Value at = c.at(inverse, c.index(0), row);
    c.storeVector(c.exp(c.subF(c.splat(0), c.loadVector(at))), at);
  });
  c.loop(c.index(0), queryCount, 1, [&](Value row) {
    Value factor = c.loadBroadcast(c.at(inverse, c.index(0), row));
    Value total = c.splat(0);
    for (int64_t at = 0; at < c.valueWidth; at += c.width) {
      Value column = c.index(at);
      int64_t count = std::min(c.width, c.valueWidth - at);
      Value doutAt = c.at(dout, row, column);
      Value x = c.mulF(c.loadVector(doutAt), factor);
      c.storeVector(x, doutAt);
      total = c.fma(c.loadColumns(out, row, column, count), x, total);
    }
    c.storeScalar(c.sumOf(total), c.at(delta, c.index(0), row));
  });
}

/// Stores rows [0, count) of a block to rows from `row` on of a result.
void BackwardEmitter::storeRows(const PackedMatrix &from, Value to, Value row,
                                Value count, std::optional<double> factor) {
  std::optional<StridedMatrix> matrix = c.getMatrix(to, row);
  if (!matrix)
    return;
  c.loop(c.index(0), count, 1, [&](Value i) {
    c.forColumns(matrix->columns, [&](Value column, int64_t valid) {
      Value x = c.loadVector(c.at(from, i, column));
      if (factor)
        x = c.mulF(x, c.splat(*factor));
      c.storeColumns(x, *matrix, i, column, valid);
    });
  });
}

//===----------------------------------------------------------------------===//
// A block of queries and a block of keys
//===----------------------------------------------------------------------===//

/// to = a b, where a query sees the key.
void BackwardEmitter::emitScores(const PackedMatrix &a, const PackedMatrix &b,
                                 int64_t k, const PackedMatrix &to,
                                 ScoreMode mode) {
  BlockMatmul matmul;
  matmul.a = a;
  matmul.b = b;
  matmul.c = to;
  matmul.beginRow = c.index(0);
  matmul.endRow = queryCount;
  matmul.beginK = c.index(0);
  matmul.endK = c.index(k);
  change.multiply(matmul, seen, mode,
                  [&](Value row) { return getEndOfGroup(row); });
}

/// Replaces the scores in `p` by probabilities, and the gradients of
/// probabilities in `ds` by gradients of scores.
void BackwardEmitter::emitScoreGradients(ScoreMode mode) {
  c.loop(c.index(0), roundUp(queryCount), 1, [&](Value row) {
    Value most = c.loadBroadcast(c.at(maximum, c.index(0), row));
    Value sum = c.loadBroadcast(c.at(delta, c.index(0), row));
    ScoreRow ofRow;
    if (mode != ScoreMode::Plain)
      ofRow = change.getRow(row, mode);
    auto emitVector = [&](Value column) {
      Value pAt = c.at(p, row, column);
      Value dsAt = c.at(ds, row, column);
      Value score = c.loadVector(pAt), slope;
      if (mode != ScoreMode::Plain)
        score = change.change(ofRow, column, score, &slope);
      Value x = c.exp(c.subF(score, most));
      Value grad = c.mulF(x, c.subF(c.loadVector(dsAt), sum));
      if (mode != ScoreMode::Plain) {
        x = change.hide(ofRow, column, x, 0);
        grad = change.hide(ofRow, column, grad, 0);
      }
      c.storeVector(x, pAt);
      c.storeVector(slope ? c.mulF(grad, slope) : grad, dsAt);
      storeBiasGradient(grad, row, column);
    };
    if (mode != ScoreMode::Partial) {
      for (int64_t column = 0; column < block; column += c.width)
        emitVector(c.index(column));
    } else {
      // The columns that the row group's matmuls have computed.
      Value group = c.mul(c.divideDown(row, c.groupRows), c.groupRows);
      c.loop(seen.begin, getEndOfGroup(group), c.width, emitVector);
    }
  });
}

/// Stores gradients of scores; rows that only fill the block have none.
void BackwardEmitter::storeBiasGradient(Value grad, Value row, Value column) {
  if (!isNeeded(op.getDbias()))
    return;
  c.ifElse(c.isLess(row, queryCount), [&] {
    StridedMatrix to = *c.getMatrix(op.getDbias(), c.add(firstQuery, row));
    change.storeKeys(grad, to.pointer, column);
  });
}

/// to += weightsᵀ b, summed over the queries that see a key.
void BackwardEmitter::emitOfKeys(const PackedMatrix &weights,
                                 const PackedMatrix &b, const PackedMatrix &to,
                                 ScoreMode mode) {
  BlockMatmul matmul;
  matmul.a = weights;
  matmul.isATransposed = true;
  matmul.b = b;
  matmul.c = to;
  matmul.beginRow = c.index(0);
  matmul.endRow = keyCount;
  matmul.beginK = c.index(0);
  matmul.endK = queryCount;
  if (mode == ScoreMode::Partial) {
    // What its groups of rows and vectors of columns leave out is not computed.
    matmul.beginRow = c.mul(c.divideDown(seen.begin, c.groupRows), c.groupRows);
    matmul.endRow = seen.end;
    matmul.beginKOfRow = [&](Value key) {
      Value first = change.getQueriesOf(c.add(firstKey, key), c.index(1)).first;
      return c.max(c.index(0), c.sub(first, firstQuery));
    };
    matmul.endKOfRow = [&](Value key) {
      Value end =
          change.getQueriesOf(c.add(firstKey, key), c.index(c.groupRows))
              .second;
      return c.min(queryCount, c.sub(end, firstQuery));
    };
  }
  matmul.vectors = to.stride / c.width;
  matmul.initial = [](Value, Value old) { return old; };
  c.matmul(matmul);
}

/// Computes dQ of the block: this part of it, or accumulated in scratch memory.
void BackwardEmitter::emitOfQueries(Sum sum, ScoreMode mode) {
  BlockMatmul matmul;
  matmul.a = ds;
  matmul.b = k;
  matmul.c = sum == Sum::Scratch ? rowsOf(allDq, getPackedRow(firstQuery)) : dq;
  matmul.beginRow = c.index(0);
  matmul.endRow = queryCount;
  matmul.beginK = mode == ScoreMode::Partial ? seen.begin : c.index(0);
  matmul.endK = keyCount;
  if (mode == ScoreMode::Partial)
    matmul.endKOfRow = [&](Value row) { return getEndOfGroup(row); };
  matmul.vectors = dq.stride / c.width;
  if (sum != Sum::Result)
    matmul.initial = [](Value, Value old) { return old; };
  c.matmul(matmul);
}

/// Adds dQ of the block to the result; the first part is stored instead, unless
/// the result was cleared.
void BackwardEmitter::addToResult() {
  std::optional<StridedMatrix> to = c.getMatrix(op.getDq(), firstQuery);
  auto add = [&] {
    c.loop(c.index(0), queryCount, 1, [&](Value row) {
      c.forColumns(c.queryWidth, [&](Value column, int64_t count) {
        Value old = c.loadColumns(*to, row, column, count);
        Value x =
            c.fma(c.loadVector(c.at(dq, row, column)), c.splat(c.scale), old);
        c.storeColumns(x, *to, row, column, count);
      });
    });
  };
  if (change.skipsBlocks())
    return add();
  auto isFirst = arith::CmpIOp::create(
      c.builder, c.loc, arith::CmpIPredicate::eq, firstKey, c.index(0));
  c.ifElse(
      isFirst,
      [&] { storeRows(dq, op.getDq(), firstQuery, queryCount, c.scale); }, add);
}

void BackwardEmitter::emitPair(bool wantsKeys, Sum sum, ScoreMode mode) {
  emitScores(q, kTransposed, c.queryWidth, p, mode);
  emitScores(dout, vTransposed, c.valueWidth, ds, mode);
  emitScoreGradients(mode);
  if (wantsKeys) {
    emitOfKeys(p, dout, dv, mode);
    emitOfKeys(ds, q, dk, mode);
  }
  if (sum == Sum::Nowhere)
    return;
  emitOfQueries(sum, mode);
  if (sum == Sum::Result)
    addToResult();
}

void BackwardEmitter::emitPair(bool wantsKeys, Sum sum) {
  seen = change.getRange(c.index(0), block);
  change.forModes(seen,
                  [&](ScoreMode mode) { emitPair(wantsKeys, sum, mode); });
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// Fills all rows of a matrix of the current head with zeros.
void BackwardEmitter::clearRows(Value to, Value rows) {
  std::optional<StridedMatrix> matrix = c.getMatrix(to, c.index(0));
  c.loop(c.index(0), rows, 1, [&](Value row) {
    c.forColumns(matrix->columns, [&](Value column, int64_t count) {
      c.storeColumns(c.splat(0), *matrix, row, column, count);
    });
  });
}

/// Clears results of which blocks that are left out have a part.
void BackwardEmitter::clearSkipped(Sum sum) {
  forMembers([&](Value) {
    if (sum == Sum::Result && change.skipsBlocks())
      clearRows(op.getDq(), c.index(c.queries));
    if (isNeeded(op.getDbias()) && (c.isCausal || change.skipsBlocks()))
      clearRows(op.getDbias(), c.index(c.queries));
  });
}

void BackwardEmitter::emitKeysOutside(Sum sum) {
  clearSkipped(sum);
  if (sum == Sum::Scratch)
    c.fill(allDq, c.groupSize() * llvm::alignTo(c.queries, block), allDq.stride,
           0);
  if (holdsQueries)
    forMembers([&](Value) {
      c.loop(0, c.queries, block, [&](Value query) { packQueries(query); });
    });
  c.loop(0, c.keys, block, [&](Value key) {
    packKeys(key);
    c.fill(dk, block, dk.stride, 0);
    c.fill(dv, block, dv.stride, 0);
    auto [begin, end] = change.getQueriesOf(firstKey, keyCount);
    begin = c.mul(c.divideDown(begin, block), block);
    forMembers([&, begin = begin, end = end](Value) {
      c.loop(begin, end, block, [&](Value query) {
        if (holdsQueries)
          selectQueries(query);
        else
          packQueries(query);
        emitPair(/*wantsKeys=*/true, sum);
      });
    });
    storeRows(dk, op.getDk(), firstKey, keyCount);
    storeRows(dv, op.getDv(), firstKey, keyCount);
  });
  if (sum == Sum::Scratch)
    forMembers([&](Value) {
      PackedMatrix ofHead = rowsOf(allDq, getPackedRow(c.index(0)));
      storeRows(ofHead, op.getDq(), c.index(0), c.index(c.queries), c.scale);
    });
}

void BackwardEmitter::emitQueriesOutside() {
  forMembers([&](Value) {
    c.loop(0, c.queries, block, [&](Value query) {
      packQueries(query);
      c.fill(dq, block, dq.stride, 0);
      auto [begin, end] = change.getKeysOf(firstQuery, queryCount);
      begin = c.mul(c.divideDown(begin, block), block);
      c.loop(begin, end, block, [&](Value key) {
        packKeys(key);
        emitPair(/*wantsKeys=*/false, Sum::Block);
      });
      storeRows(dq, op.getDq(), firstQuery, queryCount, c.scale);
    });
  });
}

void BackwardEmitter::emit(Value begin, Value end) {
  bool wantsKeys =
      isNeeded(op.getDk()) || isNeeded(op.getDv()) || isNeeded(op.getDbias());
  Sum sum = Sum::Nowhere;
  if (isNeeded(op.getDq())) {
    int64_t rows = c.groupSize() * llvm::alignTo(c.queries, block);
    if (getElementTypeOrSelf(op.getDq()) == c.type)
      sum = Sum::Result;
    else if (rows * dq.stride * c.getElementBytes() <= c.getScratchBytes())
      sum = Sum::Scratch;
    else
      sum = Sum::Block;
    if (!wantsKeys)
      sum = Sum::Block;
    if (sum == Sum::Scratch)
      allDq = c.allocate(rows, c.queryWidth);
  }
  c.loop(begin, end, 1, [&](Value keyHead) {
    tile = keyHead;
    c.setHead(tile, c.index(0));
    if (wantsKeys)
      emitKeysOutside(sum == Sum::Block ? Sum::Nowhere : sum);
    if (sum == Sum::Block)
      emitQueriesOutside();
  });
}

namespace {

class BackwardForm : public CpuAttentionForm {
  TilesAttr planTiles(AttentionPlanner planner) const override;

  void emitTiles(AttentionCode &code, Value begin, Value end) const override {
    BackwardEmitter(code, cast<AttentionGradOp>(code.op)).emit(begin, end);
  }
};

} // namespace

TilesAttr BackwardForm::planTiles(AttentionPlanner planner) const {
  int64_t keys = planner.chooseKeys([&](int64_t count) {
    return getBytesOfBlocks(count, planner.queryWidth, planner.valueWidth,
                            planner.elementBytes);
  });
  return planner.makeTiles(planner.keyHeads, 1, TileUnit::Heads, keys);
}

PP_KERNEL_FORM(CpuForm, AttentionGrad, BackwardForm)
