//===- EmitAttentionForward.cpp - softmax(scale q kᵀ) v in blocks ---------===//
//
// A tile is a run of up to 256 queries of one head. Over blocks of keys:
//
//   S = scale Q Kᵀ,  m' = max(m, rowmax S),  P = exp(S - m'),
//   l = l exp(m - m') + rowsum P,  O = O exp(m - m') + P V
//
// and after the last block out = O / l, lse = (m, log l); out = 0 and lse = (0,
// infinity) for a row that sees no key. Blocks of keys that no query of a strip
// sees are not computed. In the others only the vectors between the first and
// the last key that is seen are.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
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
  void emitBlock();
  void emitStrip(Value row);
  void emitStrip(Value row, ScoreMode mode);
  void emitScores(Value row, ScoreMode mode);
  Value foldScores(Value row, ScoreMode mode, Value initial,
                   llvm::function_ref<Value(Value column, Value before)> body);
  void emitMost(Value row, ScoreMode mode);
  void emitMaxima(Value row);
  void emitProbabilities(Value row, ScoreMode mode);
  void emitWeighted(Value row, ScoreMode mode);
  void emitSums();
  void emitResults();
  PackedMatrix rowsOf(const PackedMatrix &block, Value row) {
    return {c.at(block, row, c.index(0)), block.stride};
  }
  /// Returns the end of the keys that the rows of a group see; `inStrip` is its
  /// first row.
  Value getEndOfGroup(Value inStrip) {
    Value last = c.add(c.add(strip, inStrip), c.groupRows - 1);
    return c.min(seen.end, change.getEnd(last));
  }

  AttentionCode &c;
  AttentionOp op;
  ScoreCode change;
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
  /// The strip's first row in the tile, and the keys that it sees.
  Value strip;
  ScoreRange seen;
};

} // namespace

ForwardEmitter::ForwardEmitter(AttentionCode &code, AttentionOp op)
    : c(code), op(op), change(code), rows(c.tiles.getSize()),
      keys(c.tiles.getBlock()) {
  change.allocate(rows, keys);
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

void ForwardEmitter::emitScores(Value row, ScoreMode mode) {
  BlockMatmul matmul;
  matmul.a = rowsOf(q, row);
  matmul.b = kTransposed;
  matmul.c = scores;
  matmul.beginRow = c.index(0);
  matmul.endRow = c.index(kStripRows);
  matmul.beginK = c.index(0);
  matmul.endK = c.index(c.queryWidth);
  change.multiply(matmul, seen, mode,
                  [&](Value inStrip) { return getEndOfGroup(inStrip); });
}

/// Passes a value through `body` for each vector of scores of a row that its
/// group sees.
Value ForwardEmitter::foldScores(
    Value row, ScoreMode mode, Value initial,
    llvm::function_ref<Value(Value column, Value before)> body) {
  if (mode != ScoreMode::Partial) {
    for (int64_t column = 0; column < keys; column += c.width)
      initial = body(c.index(column), initial);
    return initial;
  }
  Value group = c.mul(c.divideDown(row, c.groupRows), c.groupRows);
  auto loop = scf::ForOp::create(
      c.builder, c.loc, seen.begin, getEndOfGroup(group), c.index(c.width),
      initial, [&](OpBuilder &, Location, Value column, ValueRange before) {
        scf::YieldOp::create(c.builder, c.loc, body(column, before[0]));
      });
  return loop.getResult(0);
}

/// Writes the maximum of each row's scores, per lane, to `partial`; scores that
/// a row does not see become -infinity.
void ForwardEmitter::emitMost(Value row, ScoreMode mode) {
  double infinity = std::numeric_limits<double>::infinity();
  c.loop(0, kStripRows, 1, [&](Value inStrip) {
    ScoreRow ofRow;
    if (mode != ScoreMode::Plain)
      ofRow = change.getRow(c.add(row, inStrip), mode);
    Value most = foldScores(
        inStrip, mode, c.splat(-infinity), [&](Value column, Value before) {
          Value at = c.at(scores, inStrip, column);
          Value x = c.loadVector(at);
          if (mode != ScoreMode::Plain) {
            x = change.hide(ofRow, column, change.change(ofRow, column, x),
                            -infinity);
            c.storeVector(x, at);
          }
          return c.maxF(before, x);
        });
    c.storeVector(most, c.at(partial, inStrip, c.index(0)));
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

void ForwardEmitter::emitProbabilities(Value row, ScoreMode mode) {
  emitMost(row, mode);
  emitMaxima(row);
  c.loop(0, kStripRows, 1, [&](Value inStrip) {
    Value ofTile = c.add(row, inStrip);
    Value most = c.loadBroadcast(c.at(maximum, c.index(0), ofTile));
    Value factor = c.loadBroadcast(c.at(rescale, c.index(0), inStrip));
    Value sumAt = c.at(sum, ofTile, c.index(0));
    Value before = c.mulF(c.loadVector(sumAt), factor);
    Value total =
        foldScores(inStrip, mode, before, [&](Value column, Value partialSum) {
          Value at = c.at(scores, inStrip, column);
          Value p = c.exp(c.subF(c.loadVector(at), most));
          c.storeVector(p, at);
          return c.addF(partialSum, p);
        });
    c.storeVector(total, sumAt);
  });
}

void ForwardEmitter::emitWeighted(Value row, ScoreMode mode) {
  BlockMatmul matmul;
  matmul.a = scores;
  matmul.b = v;
  matmul.c = rowsOf(out, row);
  matmul.beginRow = c.index(0);
  matmul.endRow = c.index(kStripRows);
  matmul.beginK = mode == ScoreMode::Partial ? seen.begin : c.index(0);
  matmul.endK = c.index(keys);
  if (mode == ScoreMode::Partial)
    matmul.endKOfRow = [&](Value inStrip) { return getEndOfGroup(inStrip); };
  matmul.vectors = out.stride / c.width;
  matmul.initial = [&](Value inStrip, Value old) {
    return c.mulF(old, c.loadBroadcast(c.at(rescale, c.index(0), inStrip)));
  };
  c.matmul(matmul);
}

void ForwardEmitter::emitStrip(Value row, ScoreMode mode) {
  emitScores(row, mode);
  emitProbabilities(row, mode);
  emitWeighted(row, mode);
}

void ForwardEmitter::emitStrip(Value row) {
  strip = row;
  seen = change.getRange(row, kStripRows);
  change.forModes(seen, [&](ScoreMode mode) { emitStrip(row, mode); });
}

/// Processes the block of keys from `key` on.
void ForwardEmitter::emitKeys(Value key) {
  firstKey = key;
  keyCount = c.min(c.index(keys), c.sub(c.index(c.keys), key));
  change.startKeys(key, keyCount);
  if (Value mayOverlap = change.mayOverlap())
    c.ifElse(mayOverlap, [&] { emitBlock(); });
  else
    emitBlock();
}

void ForwardEmitter::emitBlock() {
  c.pack(*c.getMatrix(op.getK(), firstKey), staged, keyCount, keys);
  c.transpose(staged, kTransposed, keys, staged.stride);
  c.pack(*c.getMatrix(op.getV(), firstKey), v, keyCount, keys);
  auto [begin, end] = change.getQueriesOf(firstKey, keyCount);
  begin = c.max(c.index(0), c.sub(begin, first));
  begin = c.mul(c.divideDown(begin, kStripRows), kStripRows);
  end = c.min(rowCount, c.sub(end, first));
  c.loop(begin, end, kStripRows, [&](Value row) { emitStrip(row); });
}

/// Writes the factor of `out` and the log of the sum into the first vectors of
/// `sum` of each run of as many rows as a vector has elements.
void ForwardEmitter::emitSums() {
  c.loop(0, rows, c.width, [&](Value row) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < c.width; ++i)
      sums.push_back(c.loadVector(c.at(sum, c.add(row, i), c.index(0))));
    Value total =
        c.combineEach(sums, [&](Value a, Value b) { return c.addF(a, b); });
    Value log = math::LogOp::create(c.builder, c.loc, total);
    Value inverse = arith::DivFOp::create(c.builder, c.loc, c.splat(1), total);
    if (change.hidesRows()) {
      Value isEmpty = arith::CmpFOp::create(
          c.builder, c.loc, arith::CmpFPredicate::OEQ, total, c.splat(0));
      auto unlessEmpty = [&](double ifEmpty, Value x) -> Value {
        return arith::SelectOp::create(c.builder, c.loc, isEmpty,
                                       c.splat(ifEmpty), x);
      };
      log = unlessEmpty(std::numeric_limits<double>::infinity(), log);
      inverse = unlessEmpty(0, inverse);
      Value maximumAt = c.at(maximum, c.index(0), row);
      c.storeVector(unlessEmpty(0, c.loadVector(maximumAt)), maximumAt);
    }
    c.storeVector(inverse, c.at(sum, row, c.index(0)));
    c.storeVector(log, c.at(sum, c.add(row, 1), c.index(0)));
  });
}

void ForwardEmitter::emitResults() {
  emitSums();
  std::optional<StridedMatrix> to = c.getMatrix(op.getOut(), first);
  c.loop(c.index(0), rowCount, 1, [&](Value row) {
    Value lane = c.remainder(row, c.width);
    Value inverseAt = c.at(sum, c.sub(row, lane), lane);
    Value logAt = c.at(sum, c.add(c.sub(row, lane), 1), lane);
    Value query = c.add(first, row);
    c.storePart(c.loadScalar(c.at(maximum, c.index(0), row)), op.getLse(),
                query, 0);
    c.storePart(c.loadScalar(logAt), op.getLse(), query, 1);
    if (!to)
      return;
    Value inverse = c.loadBroadcast(inverseAt);
    c.forColumns(c.valueWidth, [&](Value column, int64_t count) {
      Value x = c.mulF(c.loadVector(c.at(out, row, column)), inverse);
      c.storeColumns(x, *to, row, column, count);
    });
  });
}

void ForwardEmitter::emitTile(Value firstRow) {
  first = firstRow;
  rowCount = c.min(c.index(rows), c.sub(c.index(c.queries), first));
  c.pack(*c.getMatrix(op.getQ(), first), q, rowCount, rows, c.scale);
  c.fill(out, rows, out.stride, 0);
  c.fill(sum, rows, sum.stride, 0);
  c.fill(maximum, 1, maximum.stride,
         c.type.isF64() ? std::numeric_limits<double>::lowest()
                        : std::numeric_limits<float>::lowest());
  change.startQueries(first, rowCount);
  auto [begin, end] = change.getKeysOf(first, rowCount);
  begin = c.mul(c.divideDown(begin, keys), keys);
  c.loop(begin, end, keys, [&](Value key) { emitKeys(key); });
  emitResults();
}

void ForwardEmitter::emit(Value begin, Value end) {
  int64_t runs = llvm::divideCeil(c.queries, rows);
  c.loop(begin, end, 1, [&](Value tile) {
    Value head = c.divideDown(tile, runs);
    Value run = c.sub(tile, c.mul(head, runs));
    c.setHead(head);
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
