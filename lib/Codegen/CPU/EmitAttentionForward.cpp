//===- EmitAttentionForward.cpp - softmax(scale q kᵀ) v in blocks ---------===//
//
// A tile is a run of up to 256 queries of one head. Over blocks of keys:
//
//   S = scale Q Kᵀ,  m' = max(m, rowmax S),  P = exp(S - m'),
//   l = l exp(m - m') + rowsum P,  O = O exp(m - m') + P V
//
// and after the last block out = O / l, lse = m + log l. Blocks of keys that no
// query of the tile sees are not computed. In blocks on the diagonal only the
// vectors that a group of rows sees are computed.
//
//===----------------------------------------------------------------------===//

#include "EmitAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

namespace {

class ForwardEmitter {
public:
  ForwardEmitter(AttentionCode &code, AttentionOp op);
  void emit(Value begin, Value end);

private:
  void emitTile(Value firstRow);
  void emitKeys(Value key);
  void emitStrip(Value row, bool isMasked);
  void emitScores(Value row, bool isMasked);
  void forScores(Value row, Value inStrip, bool isMasked,
                 llvm::function_ref<void(Value column)> body);
  void emitMost(Value row, bool isMasked);
  void emitMaxima(Value row);
  void emitProbabilities(Value row, bool isMasked);
  void emitWeighted(Value row, bool isMasked);
  void emitSums();
  void emitResults();
  PackedMatrix rowsOf(const PackedMatrix &block, Value row) {
    return {c.at(block, row, c.index(0)), block.stride};
  }
  /// Returns how many keys of the block the last row of a group of the strip
  /// sees.
  Value countSeenByGroup(Value strip, Value row) {
    Value last = c.add(c.add(strip, row), c.groupRows - 1);
    return c.countSeen(c.add(first, last), firstKey, keyCount);
  }

  AttentionCode &c;
  AttentionOp op;
  int64_t rows, keys; ///< of a block
  /// For all rows: the maximum so far, and per lane the sum of exponentials.
  PackedMatrix q, out, maximum, sum;
  /// For a block of keys.
  PackedMatrix staged, kTransposed, v;
  /// For a strip: scores, then probabilities; maxima per lane; the factor that
  /// rescales `out`.
  PackedMatrix scores, partial, rescale;
  /// The tile's first query and number of queries; the same for the block of
  /// keys.
  Value first, rowCount, firstKey, keyCount;
};

} // namespace

ForwardEmitter::ForwardEmitter(AttentionCode &code, AttentionOp op)
    : c(code), op(op), rows(c.tiles.getSize()), keys(c.tiles.getBlock()) {
  q = c.allocate(rows, c.queryWidth);
  out = c.allocate(rows, c.valueWidth);
  maximum = c.allocate(1, rows);
  sum = c.allocate(rows, c.width);
  staged = c.allocate(keys, c.queryWidth);
  kTransposed = c.allocate(c.pad(c.queryWidth), keys);
  v = c.allocate(keys, c.valueWidth);
  scores = c.allocate(kStripRows, keys);
  partial = c.allocate(kStripRows, c.width);
  rescale = c.allocate(1, kStripRows);
}

void ForwardEmitter::emitScores(Value row, bool isMasked) {
  BlockMatmul matmul;
  matmul.a = rowsOf(q, row);
  matmul.b = kTransposed;
  matmul.c = scores;
  matmul.beginRow = c.index(0);
  matmul.endRow = c.index(kStripRows);
  matmul.beginK = c.index(0);
  matmul.endK = c.index(c.queryWidth);
  matmul.vectors = keys / c.width;
  if (isMasked)
    matmul.vectorsOfRow = [&, row](Value inStrip) {
      return c.divideUp(countSeenByGroup(row, inStrip), c.width);
    };
  c.matmul(matmul);
}

/// Calls `body` for each vector of scores of a row that its group sees.
void ForwardEmitter::forScores(Value row, Value inStrip, bool isMasked,
                               llvm::function_ref<void(Value column)> body) {
  if (!isMasked) {
    for (int64_t column = 0; column < keys; column += c.width)
      body(c.index(column));
    return;
  }
  Value group = c.mul(c.divideDown(inStrip, c.groupRows), c.groupRows);
  c.loop(c.index(0), countSeenByGroup(row, group), c.width, body);
}

/// Writes the maximum of each row's scores, per lane, to `partial`; scores that
/// a row does not see become -infinity.
void ForwardEmitter::emitMost(Value row, bool isMasked) {
  double infinity = std::numeric_limits<double>::infinity();
  c.loop(0, kStripRows, 1, [&](Value inStrip) {
    Value mostAt = c.at(partial, inStrip, c.index(0));
    Value seen = isMasked ? c.countSeen(c.add(first, c.add(row, inStrip)),
                                        firstKey, keyCount)
                          : Value();
    if (isMasked)
      c.storeVector(c.splat(-infinity), mostAt);
    Value most;
    forScores(row, inStrip, isMasked, [&](Value column) {
      Value at = c.at(scores, inStrip, column);
      Value x = c.loadVector(at);
      if (isMasked) {
        x = c.select(seen, column, x, -infinity);
        c.storeVector(x, at);
        c.storeVector(c.maxF(c.loadVector(mostAt), x), mostAt);
      } else {
        most = most ? c.maxF(most, x) : x;
      }
    });
    if (!isMasked)
      c.storeVector(most, mostAt);
  });
}

/// Computes the rows' new maxima, and the factor that rescales their sums; as
/// many rows at a time as a vector has elements.
void ForwardEmitter::emitMaxima(Value row) {
  c.loop(0, kStripRows, c.width, [&](Value inStrip) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < c.width; ++i)
      rows.push_back(
          c.loadVector(c.at(partial, c.add(inStrip, i), c.index(0))));
    Value most =
        c.combineEach(rows, [&](Value a, Value b) { return c.maxF(a, b); });
    Value maximumAt = c.at(maximum, c.index(0), c.add(row, inStrip));
    Value before = c.loadVector(maximumAt);
    Value now = c.maxF(before, most);
    c.storeVector(now, maximumAt);
    c.storeVector(c.exp(c.subF(before, now)),
                  c.at(rescale, c.index(0), inStrip));
  });
}

void ForwardEmitter::emitProbabilities(Value row, bool isMasked) {
  emitMost(row, isMasked);
  emitMaxima(row);
  c.loop(0, kStripRows, 1, [&](Value inStrip) {
    Value ofTile = c.add(row, inStrip);
    Value most = c.loadBroadcast(c.at(maximum, c.index(0), ofTile));
    Value factor = c.loadBroadcast(c.at(rescale, c.index(0), inStrip));
    Value sumAt = c.at(sum, ofTile, c.index(0));
    Value total = c.mulF(c.loadVector(sumAt), factor);
    if (isMasked)
      c.storeVector(total, sumAt);
    forScores(row, inStrip, isMasked, [&](Value column) {
      Value at = c.at(scores, inStrip, column);
      Value p = c.exp(c.subF(c.loadVector(at), most));
      c.storeVector(p, at);
      if (isMasked)
        c.storeVector(c.addF(c.loadVector(sumAt), p), sumAt);
      else
        total = c.addF(total, p);
    });
    if (!isMasked)
      c.storeVector(total, sumAt);
  });
}

void ForwardEmitter::emitWeighted(Value row, bool isMasked) {
  BlockMatmul matmul;
  matmul.a = scores;
  matmul.b = v;
  matmul.c = rowsOf(out, row);
  matmul.beginRow = c.index(0);
  matmul.endRow = c.index(kStripRows);
  matmul.beginK = c.index(0);
  matmul.endK = c.index(keys);
  if (isMasked)
    matmul.endKOfRow = [&, row](Value inStrip) {
      return countSeenByGroup(row, inStrip);
    };
  matmul.vectors = out.stride / c.width;
  matmul.initial = [&](Value inStrip, Value old) {
    return c.mulF(old, c.loadBroadcast(c.at(rescale, c.index(0), inStrip)));
  };
  c.matmul(matmul);
}

void ForwardEmitter::emitStrip(Value row, bool isMasked) {
  emitScores(row, isMasked);
  emitProbabilities(row, isMasked);
  emitWeighted(row, isMasked);
}

/// Processes the block of keys from `key` on.
void ForwardEmitter::emitKeys(Value key) {
  firstKey = key;
  keyCount = c.min(c.index(keys), c.sub(c.index(c.keys), key));
  c.pack(*c.getMatrix(op.getK(), key), staged, keyCount, keys);
  c.transpose(staged, kTransposed, keys, staged.stride);
  c.pack(*c.getMatrix(op.getV(), key), v, keyCount, keys);
  Value begin = c.index(0);
  if (c.isCausal)
    begin = c.mul(c.divideDown(c.max(begin, c.sub(key, first)), kStripRows),
                  kStripRows);
  c.loop(begin, rowCount, kStripRows, [&](Value row) {
    Value seen = c.countSeen(c.add(first, row), key, keyCount);
    c.ifElse(
        c.isLess(seen, c.index(keys)), [&] { emitStrip(row, true); },
        [&] { emitStrip(row, false); });
  });
}

/// Writes lse into `maximum`, and the factor of `out` into the first lanes of
/// `sum`; as many rows at a time as a vector has elements.
void ForwardEmitter::emitSums() {
  c.loop(0, rows, c.width, [&](Value row) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < c.width; ++i)
      sums.push_back(c.loadVector(c.at(sum, c.add(row, i), c.index(0))));
    Value total =
        c.combineEach(sums, [&](Value a, Value b) { return c.addF(a, b); });
    Value maximumAt = c.at(maximum, c.index(0), row);
    Value most = c.mulF(c.loadVector(maximumAt), c.splat(c.unit));
    Value log = math::LogOp::create(c.builder, c.loc, total);
    c.storeVector(c.addF(most, log), maximumAt);
    c.storeVector(arith::DivFOp::create(c.builder, c.loc, c.splat(1), total),
                  c.at(sum, row, c.index(0)));
  });
}

void ForwardEmitter::emitResults() {
  emitSums();
  std::optional<StridedMatrix> to = c.getMatrix(op.getOut(), first);
  c.loop(c.index(0), rowCount, 1, [&](Value row) {
    c.storeStatistic(c.loadScalar(c.at(maximum, c.index(0), row)), op.getLse(),
                     c.add(first, row));
    if (!to)
      return;
    Value lane = c.remainder(row, c.width);
    Value inverse = c.loadBroadcast(c.at(sum, c.sub(row, lane), lane));
    c.forColumns(c.valueWidth, [&](Value column, int64_t count) {
      Value x = c.mulF(c.loadVector(c.at(out, row, column)), inverse);
      c.storeColumns(x, *to, row, column, count);
    });
  });
}

void ForwardEmitter::emitTile(Value firstRow) {
  first = firstRow;
  rowCount = c.min(c.index(rows), c.sub(c.index(c.queries), first));
  c.pack(*c.getMatrix(op.getQ(), first), q, rowCount, rows, c.scale / c.unit);
  c.fill(out, rows, out.stride, 0);
  c.fill(sum, rows, sum.stride, 0);
  c.fill(maximum, 1, maximum.stride,
         c.type.isF64() ? std::numeric_limits<double>::lowest()
                        : std::numeric_limits<float>::lowest());
  Value end = c.index(c.keys);
  if (c.isCausal)
    end = c.min(end, c.add(first, rowCount));
  c.loop(c.index(0), end, keys, [&](Value key) { emitKeys(key); });
  emitResults();
}

void ForwardEmitter::emit(Value begin, Value end) {
  int64_t runs = llvm::divideCeil(c.queries, rows);
  c.loop(begin, end, 1, [&](Value tile) {
    Value head = c.divideDown(tile, runs);
    Value run = c.sub(tile, c.mul(head, runs));
    c.currentBatch = c.divideDown(head, c.heads);
    c.currentHead = c.sub(head, c.mul(c.currentBatch, c.heads));
    emitTile(c.mul(run, rows));
  });
}

namespace {

class ForwardForm : public CpuAttentionForm {
  TilesAttr planTiles(AttentionPlanner planner) const override;

  void emitTiles(AttentionCode &code, Value begin, Value end) const override {
    ForwardEmitter(code, cast<AttentionOp>(code.op)).emit(begin, end);
  }
};

} // namespace

TilesAttr ForwardForm::planTiles(AttentionPlanner planner) const {
  auto ofKeys = [&](int64_t count) {
    return (2 * planner.queryWidth + planner.valueWidth + kStripRows) * count *
           planner.elementBytes;
  };
  auto ofRows = [&](int64_t count) {
    return (planner.queryWidth + planner.valueWidth + 1 + planner.width) *
           count * planner.elementBytes;
  };
  int64_t keys =
      planner.chooseKeys([&](int64_t count) { return 2 * ofKeys(count); });
  int64_t rows = llvm::alignTo(
      std::min(planner.get(Threshold::AttentionRows), planner.shape.queries),
      kStripRows);
  while (rows > kStripRows &&
         ofRows(rows) + ofKeys(keys) > planner.get(Threshold::ScratchBytes))
    rows = llvm::alignTo(rows / 2, kStripRows);
  return planner.makeTiles(planner.heads *
                               llvm::divideCeil(planner.shape.queries, rows),
                           rows, TileUnit::Queries, keys);
}

PP_KERNEL_FORM(CpuForm, Attention, ForwardForm)
