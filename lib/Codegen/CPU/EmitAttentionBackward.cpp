//===- EmitAttentionBackward.cpp - Gradients of attention in blocks -------===//
//
// A tile is one head of one row of the batch. With D = rowsum(dO O), for each
// block of queries and each block of keys
//
//   P = exp(scale Q Kᵀ - lse),  dS = P (dO Vᵀ - D),
//   dV += Pᵀ dO,  dK += scale dSᵀ Q,  dQ += scale dS K
//
// The outer loop is over blocks of keys: dK and dV of a block stay in scratch
// memory. dQ is accumulated in the result, or in scratch memory if the result's
// type is narrower. If dQ is too large for that, a second pass with queries in
// the outer loop computes it.
//
//===----------------------------------------------------------------------===//

#include "EmitAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the bytes of scratch memory for blocks of `block` queries and keys;
/// widths are those of packed rows.
static int64_t getBytesOfBlocks(int64_t block, int64_t queryWidth,
                                int64_t valueWidth, int64_t elementBytes) {
  return (5 * queryWidth + 3 * valueWidth + 2 * block + 2) * block *
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
  void emitPair(bool wantsKeys, Sum sum, bool isMasked);
  void emitScores(const PackedMatrix &a, const PackedMatrix &b, int64_t k,
                  const PackedMatrix &to, bool isMasked);
  void emitScoreGradients(bool isMasked);
  void emitOfKeys(const PackedMatrix &weights, const PackedMatrix &b,
                  const PackedMatrix &to, bool isMasked);
  void emitOfQueries(Sum sum, bool isMasked);
  void addToResult();
  void storeRows(const PackedMatrix &from, Value to, Value row, Value count,
                 std::optional<double> factor = {});
  Value firstQueryOf(Value key);
  PackedMatrix rowsOf(const PackedMatrix &block, Value row) {
    return {c.at(block, row, c.index(0)), block.stride};
  }
  Value roundUp(Value rows) {
    return c.mul(c.divideUp(rows, c.groupRows), c.groupRows);
  }

  AttentionCode &c;
  AttentionGradOp op;
  int64_t block; ///< keys, and queries, of a block
  /// Whether scratch memory holds the packed operands of all queries, or of one
  /// block.
  bool holdsQueries;
  /// For a block of keys.
  PackedMatrix k, kTransposed, vTransposed, dk, dv;
  /// For a block of queries, parts of the packed operands; q and lse are in
  /// units of scores.
  PackedMatrix q, dout, dq, lse, delta;
  PackedMatrix packedQ, packedDout, packedLse, packedDelta;
  /// For a pair of blocks.
  PackedMatrix p, ds;
  /// dQ of all queries.
  PackedMatrix allDq;
  Value firstQuery, queryCount, firstKey, keyCount;
};

} // namespace

/// Returns whether a result is used.
static bool isNeeded(Value value) { return !value.use_empty(); }

BackwardEmitter::BackwardEmitter(AttentionCode &code, AttentionGradOp op)
    : c(code), op(op), block(c.tiles.getBlock()), holdsQueries(fitsQueries()) {
  k = c.allocate(block, c.queryWidth);
  kTransposed = c.allocate(c.pad(c.queryWidth), block);
  vTransposed = c.allocate(c.pad(c.valueWidth), block);
  dk = c.allocate(block, c.queryWidth);
  dv = c.allocate(block, c.valueWidth);
  dq = c.allocate(block, c.queryWidth);
  p = c.allocate(block, block);
  ds = c.allocate(block, block);
  int64_t packed = holdsQueries ? llvm::alignTo(c.queries, block) : block;
  packedQ = c.allocate(packed, c.queryWidth);
  packedDout = c.allocate(packed, c.valueWidth);
  packedLse = c.allocate(1, packed);
  packedDelta = c.allocate(1, packed);
}

/// Returns whether the packed operands of all queries fit into scratch memory.
bool BackwardEmitter::fitsQueries() {
  int64_t width = c.pad(c.queryWidth), valueWidth = c.pad(c.valueWidth);
  int64_t others = (llvm::alignTo(c.queries, block) - block) *
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
  c.pack(*c.getMatrix(op.getK(), key), k, keyCount, block);
  c.transpose(k, kTransposed, block, k.stride);
  // dv is not in use yet.
  c.pack(*c.getMatrix(op.getV(), key), dv, keyCount, block);
  c.transpose(dv, vTransposed, block, dv.stride);
}

/// Selects the block of queries from `query` on, which is packed.
void BackwardEmitter::selectQueries(Value query) {
  firstQuery = query;
  queryCount = c.min(c.index(block), c.sub(c.index(c.queries), query));
  Value row = holdsQueries ? query : c.index(0);
  q = rowsOf(packedQ, row);
  dout = rowsOf(packedDout, row);
  lse = {c.at(packedLse, c.index(0), row), packedLse.stride};
  delta = {c.at(packedDelta, c.index(0), row), packedDelta.stride};
}

void BackwardEmitter::packQueries(Value query) {
  selectQueries(query);
  StridedMatrix out = *c.getMatrix(op.getOut(), query);
  StridedMatrix grads = *c.getMatrix(op.getDout(), query);
  c.pack(*c.getMatrix(op.getQ(), query), q, queryCount, block,
         c.scale / c.unit);
  c.pack(grads, dout, queryCount, block);
  c.fill(lse, 1, c.pad(block), 0);
  c.fill(delta, 1, c.pad(block), 0);
  c.loop(c.index(0), queryCount, 1, [&](Value row) {
    Value stat = c.loadStatistic(op.getLse(), c.add(query, row));
    c.storeScalar(c.mulF(stat, c.real(1 / c.unit)), c.at(lse, c.index(0), row));
    Value total = c.splat(0);
    for (int64_t at = 0; at < c.valueWidth; at += c.width) {
      Value column = c.index(at);
      int64_t count = std::min(c.width, c.valueWidth - at);
      total = c.fma(c.loadColumns(out, row, column, count),
                    c.loadVector(c.at(dout, row, column)), total);
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
                                 bool isMasked) {
  BlockMatmul matmul;
  matmul.a = a;
  matmul.b = b;
  matmul.c = to;
  matmul.beginRow = c.index(0);
  matmul.endRow = queryCount;
  matmul.beginK = c.index(0);
  matmul.endK = c.index(k);
  matmul.vectors = block / c.width;
  if (isMasked)
    matmul.vectorsOfRow = [&](Value row) {
      Value last = c.add(c.add(firstQuery, row), c.groupRows - 1);
      return c.divideUp(c.countSeen(last, firstKey, keyCount), c.width);
    };
  c.matmul(matmul);
}

/// Replaces the scores in `p` by probabilities, and the gradients of
/// probabilities in `ds` by gradients of scores.
void BackwardEmitter::emitScoreGradients(bool isMasked) {
  c.loop(c.index(0), roundUp(queryCount), 1, [&](Value row) {
    Value seen = isMasked
                     ? c.countSeen(c.add(firstQuery, row), firstKey, keyCount)
                     : Value();
    Value logSum = c.broadcast(c.loadScalar(c.at(lse, c.index(0), row)));
    Value sum = c.broadcast(c.loadScalar(c.at(delta, c.index(0), row)));
    auto emitVector = [&](Value column) {
      Value pAt = c.at(p, row, column);
      Value dsAt = c.at(ds, row, column);
      Value x = c.exp(c.subF(c.loadVector(pAt), logSum));
      Value grad = c.mulF(x, c.subF(c.loadVector(dsAt), sum));
      if (isMasked) {
        x = c.select(seen, column, x, 0);
        grad = c.select(seen, column, grad, 0);
      }
      c.storeVector(x, pAt);
      c.storeVector(grad, dsAt);
    };
    if (isMasked) {
      // The columns that the row group's matmuls have computed.
      Value last = c.add(c.mul(c.divideDown(row, c.groupRows), c.groupRows),
                         c.groupRows - 1);
      c.loop(c.index(0),
             c.countSeen(c.add(firstQuery, last), firstKey, keyCount), c.width,
             emitVector);
    } else {
      for (int64_t column = 0; column < block; column += c.width)
        emitVector(c.index(column));
    }
  });
}

/// to += weightsᵀ b, summed over the queries that see a key.
void BackwardEmitter::emitOfKeys(const PackedMatrix &weights,
                                 const PackedMatrix &b, const PackedMatrix &to,
                                 bool isMasked) {
  BlockMatmul matmul;
  matmul.a = weights;
  matmul.isATransposed = true;
  matmul.b = b;
  matmul.c = to;
  matmul.beginRow = c.index(0);
  matmul.endRow = keyCount;
  matmul.beginK = c.index(0);
  matmul.endK = queryCount;
  if (isMasked && c.isCausal)
    matmul.beginKOfRow = [&](Value key) {
      return c.max(c.index(0), c.sub(c.add(firstKey, key), firstQuery));
    };
  matmul.vectors = to.stride / c.width;
  matmul.initial = [](Value, Value old) { return old; };
  c.matmul(matmul);
}

/// Computes dQ of the block: this part of it, or accumulated in scratch memory.
void BackwardEmitter::emitOfQueries(Sum sum, bool isMasked) {
  BlockMatmul matmul;
  matmul.a = ds;
  matmul.b = k;
  matmul.c = sum == Sum::Scratch ? rowsOf(allDq, firstQuery) : dq;
  matmul.beginRow = c.index(0);
  matmul.endRow = queryCount;
  matmul.beginK = c.index(0);
  matmul.endK = keyCount;
  if (isMasked)
    matmul.endKOfRow = [&](Value row) {
      Value last = c.add(c.add(firstQuery, row), c.groupRows - 1);
      return c.countSeen(last, firstKey, keyCount);
    };
  matmul.vectors = dq.stride / c.width;
  if (sum != Sum::Result)
    matmul.initial = [](Value, Value old) { return old; };
  c.matmul(matmul);
}

/// Adds dQ of the block to the result; the first part is stored instead.
void BackwardEmitter::addToResult() {
  std::optional<StridedMatrix> to = c.getMatrix(op.getDq(), firstQuery);
  auto isFirst = arith::CmpIOp::create(
      c.builder, c.loc, arith::CmpIPredicate::eq, firstKey, c.index(0));
  c.ifElse(
      isFirst,
      [&] { storeRows(dq, op.getDq(), firstQuery, queryCount, c.scale); },
      [&] {
        c.loop(c.index(0), queryCount, 1, [&](Value row) {
          c.forColumns(c.queryWidth, [&](Value column, int64_t count) {
            Value old = c.loadColumns(*to, row, column, count);
            Value x = c.fma(c.loadVector(c.at(dq, row, column)),
                            c.splat(c.scale), old);
            c.storeColumns(x, *to, row, column, count);
          });
        });
      });
}

void BackwardEmitter::emitPair(bool wantsKeys, Sum sum, bool isMasked) {
  emitScores(q, kTransposed, c.queryWidth, p, isMasked);
  emitScores(dout, vTransposed, c.valueWidth, ds, isMasked);
  emitScoreGradients(isMasked);
  if (wantsKeys) {
    emitOfKeys(p, dout, dv, isMasked);
    emitOfKeys(ds, q, dk, isMasked);
  }
  if (sum == Sum::Nowhere)
    return;
  emitOfQueries(sum, isMasked);
  if (sum == Sum::Result)
    addToResult();
}

void BackwardEmitter::emitPair(bool wantsKeys, Sum sum) {
  Value seen = c.countSeen(firstQuery, firstKey, keyCount);
  c.ifElse(
      c.isLess(seen, c.index(block)), [&] { emitPair(wantsKeys, sum, true); },
      [&] { emitPair(wantsKeys, sum, false); });
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

void BackwardEmitter::emitKeysOutside(Sum sum) {
  if (sum == Sum::Scratch)
    c.fill(allDq, llvm::alignTo(c.queries, block), allDq.stride, 0);
  if (holdsQueries)
    c.loop(0, c.queries, block, [&](Value query) { packQueries(query); });
  c.loop(0, c.keys, block, [&](Value key) {
    packKeys(key);
    c.fill(dk, block, dk.stride, 0);
    c.fill(dv, block, dv.stride, 0);
    // Blocks have equal sizes: queries in blocks above the diagonal see
    // nothing.
    Value begin = c.isCausal ? key : c.index(0);
    c.loop(begin, c.index(c.queries), block, [&](Value query) {
      if (holdsQueries)
        selectQueries(query);
      else
        packQueries(query);
      emitPair(/*wantsKeys=*/true, sum);
    });
    storeRows(dk, op.getDk(), firstKey, keyCount, c.unit);
    storeRows(dv, op.getDv(), firstKey, keyCount);
  });
  if (sum == Sum::Scratch)
    storeRows(allDq, op.getDq(), c.index(0), c.index(c.queries), c.scale);
}

void BackwardEmitter::emitQueriesOutside() {
  c.loop(0, c.queries, block, [&](Value query) {
    packQueries(query);
    c.fill(dq, block, dq.stride, 0);
    Value end = c.isCausal ? c.add(query, queryCount) : c.index(c.keys);
    c.loop(c.index(0), end, block, [&](Value key) {
      packKeys(key);
      emitPair(/*wantsKeys=*/false, Sum::Block);
    });
    storeRows(dq, op.getDq(), firstQuery, queryCount, c.scale);
  });
}

void BackwardEmitter::emit(Value begin, Value end) {
  bool wantsKeys = isNeeded(op.getDk()) || isNeeded(op.getDv());
  Sum sum = Sum::Nowhere;
  if (isNeeded(op.getDq())) {
    int64_t rows = llvm::alignTo(c.queries, block);
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
  c.loop(begin, end, 1, [&](Value tile) {
    c.currentBatch = c.divideDown(tile, c.heads);
    c.currentHead = c.sub(tile, c.mul(c.currentBatch, c.heads));
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
  return planner.makeTiles(planner.heads, 1, TileUnit::Heads, keys);
}

PP_KERNEL_FORM(CpuForm, AttentionGrad, BackwardForm)
