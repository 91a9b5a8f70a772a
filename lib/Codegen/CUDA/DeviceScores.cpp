//===- DeviceScores.cpp - Changed and hidden scores, on a GPU -------------===//

#include "DeviceScores.h"

#include "Shuffle.h"

#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t pp::countSegmentBytes(KernelOp kernel, int64_t threads) {
  constexpr int64_t kBytesOfWarp = 8;
  bool hasSegments =
      getAttention(kernel).getAttentionScores().segments != nullptr;
  return hasSegments ? threads / kWarp * kBytesOfWarp : 0;
}

DeviceScores::DeviceScores(DeviceAttention &code, int64_t queriesOfTile,
                           int64_t keysOfTile)
    : AttentionScores(getAttention(code.kernel).getAttentionScores()),
      code(code), areQueriesWhole(code.queries % queriesOfTile == 0),
      areKeysWhole(code.keys % keysOfTile == 0) {}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Loads an element of an operand of which dimensions of size 1 stand for any
/// number, at [batch, head, query, key] or the first of these.
Value DeviceScores::load(Value operand, ArrayRef<Value> indices) {
  bool isBool = getElementTypeOrSelf(operand).isInteger(1);
  // A boolean has a byte.
  Type element =
      isBool ? code.builder.getI8Type() : getElementTypeOrSelf(operand);
  Value loaded =
      LLVM::LoadOp::create(code.builder, code.loc, element,
                           code.getAddress(operand, indices, element));
  if (isBool)
    return arith::CmpIOp::create(
        code.builder, code.loc, arith::CmpIPredicate::ne, loaded,
        arith::ConstantIntOp::create(code.builder, code.loc, element, 0));
  if (!isa<FloatType>(element) || element == code.type)
    return loaded;
  if (element.getIntOrFloatBitWidth() < code.type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(code.builder, code.loc, code.type, loaded);
  return arith::TruncFOp::create(code.builder, code.loc, code.type, loaded);
}

Value DeviceScores::change(Value score, Value query, Value key, Value *slope) {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  if (slope)
    *slope = Value();
  if (softCap != 0) {
    Value t = math::TanhOp::create(
        builder, loc, code.mulF(score, code.constant(1 / softCap)));
    score = code.mulF(t, code.constant(softCap));
    if (slope)
      *slope = code.subF(code.constant(1), code.mulF(t, t));
  }
  if (slopes) {
    // Of 32 bits, with a sign.
    Value distance = arith::IndexCastOp::create(
        builder, loc, builder.getI32Type(), code.sub(key, getPosition(query)));
    score = math::FmaOp::create(
        builder, loc, load(slopes, code.head),
        arith::SIToFPOp::create(builder, loc, code.type, distance), score);
  }
  if (bias) {
    Value added =
        load(bias, {code.row, code.head, clampQuery(query), clampKey(key)});
    score = code.addF(score, added);
  }
  return score;
}

Value DeviceScores::clampQuery(Value query) {
  return areQueriesWhole ? query
                         : code.min(query, code.index(code.queries - 1));
}
Value DeviceScores::clampKey(Value key) {
  return areKeysWhole ? key : code.min(key, code.index(code.keys - 1));
}

Value DeviceScores::isSeenByPosition(Value query, Value key) {
  Value isSeen;
  if (Value end = getEndKey(query))
    isSeen = code.isBelow(key, end);
  if (window != 0)
    isSeen = code.both(isSeen, code.isBelow(getPosition(query),
                                            code.add(key, code.index(window))));
  return isSeen;
}

Value DeviceScores::isSeenByElement(Value query, Value key) {
  Value isSeen;
  if (mask)
    isSeen =
        load(mask, {code.row, code.head, clampQuery(query), clampKey(key)});
  if (segments)
    isSeen = code.both(
        isSeen,
        arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::eq,
                              load(segments, {code.row, clampQuery(query)}),
                              load(segments, {code.row, clampKey(key)})));
  return isSeen;
}

Value DeviceScores::isSeen(Value query, Value key) {
  return code.both(isSeenByPosition(query, key), isSeenByElement(query, key));
}

Value DeviceScores::isKey(Value key) {
  bool isCertain = areKeysWhole || code.isCausal;
  return isCertain ? Value() : code.isBelow(key, code.index(code.keys));
}

Value DeviceScores::isQuery(Value query) {
  return areQueriesWhole ? Value()
                         : code.isBelow(query, code.index(code.queries));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value DeviceScores::selectWhere(Value number, double equals, double then,
                                Value otherwise) {
  Value condition =
      arith::CmpFOp::create(code.builder, code.loc, arith::CmpFPredicate::OEQ,
                            number, code.constant(equals));
  return code.select(condition, code.constant(then), otherwise);
}

Value DeviceScores::getBase(Value maximum) {
  return hideRows() ? selectWhere(maximum, -kInfinity, 0, maximum) : maximum;
}

Value DeviceScores::getDivisor(Value sum) {
  return hideRows() ? selectWhere(sum, 0, 1, sum) : sum;
}

void DeviceScores::storeLse(Value maximum, Value sum, Value lse, Value query) {
  code.store(getBase(maximum), lse, query, code.index(0));
  Value log = math::LogOp::create(code.builder, code.loc, sum);
  if (hideRows())
    log = selectWhere(sum, 0, kInfinity, log);
  code.store(log, lse, query, code.index(1));
}

//===----------------------------------------------------------------------===//
// Ranges by positions
//===----------------------------------------------------------------------===//

Value DeviceScores::subtract(Value a, int64_t b) {
  if (b == 0)
    return a;
  return code.sub(code.max(a, code.index(b)), code.index(b));
}

Value DeviceScores::shift(Value number, int64_t by) {
  if (auto sum = number.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> constant = getConstantIntValue(sum.getRhs()))
      return shift(sum.getLhs(), *constant + by);
  return code.add(number, code.index(by));
}

Value DeviceScores::getPosition(Value query) {
  return shift(query, code.keys - code.queries);
}

Value DeviceScores::getFirstKey(Value query) {
  if (window == 0)
    return code.index(0);
  return subtract(shift(getPosition(query), 1), window);
}

Value DeviceScores::getEndKey(Value query) {
  if (code.isCausal)
    return shift(getPosition(query), 1);
  return window == 0 ? Value() : shift(getPosition(query), window);
}

Value DeviceScores::getFirstQuery(Value key) {
  int64_t offset = code.keys - code.queries;
  if (code.isCausal)
    return subtract(key, offset);
  if (window == 0)
    return code.index(0);
  return subtract(shift(key, 1), offset + window);
}

Value DeviceScores::getEndQuery(Value key) {
  if (window == 0)
    return Value();
  return subtract(shift(key, window), code.keys - code.queries);
}

Value DeviceScores::alignDown(Value number, int64_t step) {
  return code.mul(code.div(number, step), step);
}

Value DeviceScores::combineWarp(Value value, bool isMaximum) {
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value other = emitShuffle(code.builder, code.loc, value, distance);
    value = emitExtreme(value, other, isMaximum);
  }
  return value;
}

Value DeviceScores::emitExtreme(Value a, Value b, bool isMaximum) {
  if (isMaximum)
    return arith::MaxSIOp::create(code.builder, code.loc, a, b);
  return arith::MinSIOp::create(code.builder, code.loc, a, b);
}

SeenRange DeviceScores::narrow(SeenRange range, Value first, int64_t count,
                               int64_t step) {
  if (!segments)
    return range;
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  // Each warp reads the segments of the rows.
  Value lane = code.rem(code.thread, kWarp);
  Value begin = code.add(first, code.min(lane, code.index(count - 1)));
  Value last = code.index(code.queries - 1);
  auto loadSegment = [&](Value at) { return load(segments, {code.row, at}); };
  Value own = loadSegment(code.min(begin, last));
  SmallVector<Value> ids = code.loop(
      code.add(begin, code.index(kWarp)), code.add(first, code.index(count)),
      kWarp, {own, own}, [&](Value at, ValueRange before) {
        Value id = loadSegment(code.min(at, last));
        return SmallVector<Value>{
            emitExtreme(before[0], id, /*isMaximum=*/false),
            emitExtreme(before[1], id, /*isMaximum=*/true)};
      });
  Value least = combineWarp(ids[0], /*isMaximum=*/false);
  Value most = combineWarp(ids[1], /*isMaximum=*/true);

  // Each thread reads those of some columns.
  Type i32 = builder.getI32Type();
  auto narrowIndex = [&](Value number) -> Value {
    return arith::IndexCastOp::create(builder, loc, i32, number);
  };
  int64_t threads = code.kernel.getThreadsAttr().getCount();
  SmallVector<Value> found = code.loop(
      code.add(range.begin, code.thread), range.end, threads,
      {narrowIndex(range.end), narrowIndex(range.begin)},
      [&](Value at, ValueRange before) {
        Value id = loadSegment(at);
        auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
          return arith::CmpIOp::create(builder, loc, predicate, id, bound);
        };
        Value isBetween = code.both(compare(arith::CmpIPredicate::sge, least),
                                    compare(arith::CmpIPredicate::sle, most));
        Value here = narrowIndex(at);
        Value after = narrowIndex(code.add(at, code.index(1)));
        Value begin = emitExtreme(before[0], here, /*isMaximum=*/false);
        Value end = emitExtreme(before[1], after, /*isMaximum=*/true);
        return SmallVector<Value>{code.select(isBetween, begin, before[0]),
                                  code.select(isBetween, end, before[1])};
      });

  // Warps meet in shared memory.
  int64_t bytes = code.kernel.getThreadsAttr().getShared() -
                  countSegmentBytes(code.kernel, threads);
  auto getShared = [&](Value warp, int64_t i) {
    return code.getElement(
        code.shared, i32,
        code.add(code.mul(warp, 2), code.index(bytes / 4 + i)));
  };
  for (int64_t i = 0; i < 2; ++i) {
    Value ofWarp = combineWarp(found[i], /*isMaximum=*/i == 1);
    code.emitIf(code.isBelow(lane, code.index(1)), [&] {
      LLVM::StoreOp::create(builder, loc, ofWarp,
                            getShared(code.div(code.thread, kWarp), i));
    });
  }
  code.synchronizeBlock();
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t warp = 0; warp < threads / kWarp; ++warp) {
      Value ofWarp = LLVM::LoadOp::create(builder, loc, i32,
                                          getShared(code.index(warp), i));
      found[i] = warp == 0
                     ? ofWarp
                     : emitExtreme(found[i], ofWarp, /*isMaximum=*/i == 1);
    }
  auto widen = [&](Value number) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      number);
  };
  return {alignDown(widen(found[0]), step), widen(found[1])};
}

/// Returns [begin, end), but no more than `count` in all; a null end is
/// `count`.
SeenRange DeviceScores::makeRange(Value begin, Value end, int64_t count) {
  Value all = code.index(count);
  return {begin, end ? code.min(all, end) : all};
}

SeenRange DeviceScores::getKeys(Value first, int64_t count, int64_t step) {
  Value begin = alignDown(getFirstKey(first), step);
  Value end = getEndKey(shift(first, count - 1));
  return narrow(makeRange(begin, end, code.keys), first, count, step);
}

SeenRange DeviceScores::getKeysOfAll(Value first, int64_t count) {
  return makeRange(getFirstKey(shift(first, count - 1)), getEndKey(first),
                   code.keys);
}

SeenRange DeviceScores::getQueries(Value first, int64_t count, int64_t step) {
  Value begin = alignDown(getFirstQuery(first), step);
  Value end = getEndQuery(shift(first, count - 1));
  return narrow(makeRange(begin, end, code.queries), first, count, step);
}

SeenRange DeviceScores::getQueriesOfAll(Value first, int64_t count) {
  return makeRange(getFirstQuery(shift(first, count - 1)), getEndQuery(first),
                   code.queries);
}

void DeviceScores::clearOutside(Value result, Value firstQuery, int64_t count,
                                SeenRange keys, int64_t threads) {
  auto clear = [&](Value query, Value begin, Value end) {
    code.loop(code.add(begin, code.thread), end, threads, {},
              [&](Value key, ValueRange) -> SmallVector<Value> {
                code.store(code.constant(0), result, query, key);
                return {};
              });
  };
  // A range that has no keys may end before it begins.
  Value after = code.max(keys.begin, keys.end);
  code.loop(firstQuery,
            code.min(code.add(firstQuery, code.index(count)),
                     code.index(code.queries)),
            1, {}, [&](Value query, ValueRange) -> SmallVector<Value> {
              clear(query, code.index(0), keys.begin);
              clear(query, after, code.index(code.keys));
              return {};
            });
}
