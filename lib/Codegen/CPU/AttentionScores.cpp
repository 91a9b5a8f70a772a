//===- AttentionScores.cpp - What changes and hides scores ----------------===//

#include "AttentionScores.h"

#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::pp;

AttentionOpInterface ScoreCode::getAttentionOp() {
  return cast<AttentionOpInterface>(c.op);
}

//===----------------------------------------------------------------------===//
// Integers and conditions
//===----------------------------------------------------------------------===//

Value ScoreCode::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(c.builder, c.loc, a, b);
}

Value ScoreCode::isEqual(Value a, Value b) {
  return arith::CmpIOp::create(c.builder, c.loc, arith::CmpIPredicate::eq, a,
                               b);
}

Value ScoreCode::isAtMost(Value a, Value b) {
  return arith::CmpIOp::create(c.builder, c.loc, arith::CmpIPredicate::sle, a,
                               b);
}

/// Returns for each lane whether its number is less than `bound`.
Value ScoreCode::isBelow(Value bound) {
  Value number = arith::IndexCastOp::create(c.builder, c.loc,
                                            c.builder.getI32Type(), bound);
  return arith::CmpIOp::create(c.builder, c.loc, arith::CmpIPredicate::slt,
                               c.lanes(), c.broadcast(number));
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

Type ScoreCode::getIdType() { return getElementTypeOrSelf(changes.segments); }

Value ScoreCode::allocateIds(int64_t count) {
  return c.allocateElements(llvm::alignTo(count, c.width), getIdType());
}

Value ScoreCode::loadIds(Value ids, Value at) {
  return LLVM::LoadOp::create(
      c.builder, c.loc, VectorType::get({c.width}, getIdType()),
      c.address(ids, getIdType(), at), getElementBytes(getIdType()));
}

Value ScoreCode::loadId(Value ids, Value at) {
  return LLVM::LoadOp::create(c.builder, c.loc, getIdType(),
                              c.address(ids, getIdType(), at));
}

void ScoreCode::storeId(Value id, Value ids, Value at) {
  LLVM::StoreOp::create(c.builder, c.loc, id, c.address(ids, getIdType(), at));
}

/// Copies the ids of tokens [first, first + count); the last one fills the
/// block.
void ScoreCode::packIds(Value ids, Value first, Value count, int64_t size) {
  bool isContiguous =
      getAttentionLayout(c.op, changes.segments).strides[1] == 1;
  if (isContiguous && c.keys % size == 0) {
    c.loop(0, size, c.width, [&](Value i) {
      Value own = loadIds(c.addressOfToken(changes.segments, first), i);
      LLVM::StoreOp::create(c.builder, c.loc, own,
                            c.address(ids, getIdType(), i),
                            getElementBytes(getIdType()));
    });
    return;
  }
  c.loop(0, size, 1, [&](Value i) {
    Value token = c.add(first, c.min(i, c.sub(count, c.index(1))));
    storeId(loadId(c.addressOfToken(changes.segments, token), c.index(0)), ids,
            i);
  });
}

/// Returns the least and the largest id of a run of whole vectors.
std::pair<Value, Value> ScoreCode::getExtremes(Value ids, Value first,
                                               int64_t count) {
  Value least = loadIds(ids, first), most = least;
  for (int64_t i = c.width; i < count; i += c.width) {
    Value next = loadIds(ids, c.add(first, i));
    least = arith::MinSIOp::create(c.builder, c.loc, least, next);
    most = arith::MaxSIOp::create(c.builder, c.loc, most, next);
  }
  return {vector::ReductionOp::create(c.builder, c.loc,
                                      vector::CombiningKind::MINSI, least),
          vector::ReductionOp::create(c.builder, c.loc,
                                      vector::CombiningKind::MAXSI, most)};
}

/// Leaves out vectors of keys whose segments are none of the rows'.
void ScoreCode::narrowToSegments(ScoreRange &range, Value row, int64_t rows) {
  auto [least, most] = getExtremes(queryIds, row, rows);
  int64_t vectors = keysOfBlock / c.width;
  auto loop = scf::ForOp::create(
      c.builder, c.loc, c.index(0), c.index(vectors), c.index(1),
      ValueRange{c.index(keysOfBlock), c.index(0)},
      [&, least = least, most = most](OpBuilder &, Location, Value i,
                                      ValueRange bounds) {
        Value seen = both(isAtMost(loadId(leastIds, i), most),
                          isAtMost(least, loadId(mostIds, i)));
        Value begin = c.mul(i, c.width);
        auto choose = [&](Value a, Value b) -> Value {
          return arith::SelectOp::create(c.builder, c.loc, seen, a, b);
        };
        scf::YieldOp::create(
            c.builder, c.loc,
            ValueRange{choose(c.min(bounds[0], begin), bounds[0]),
                       choose(c.add(begin, c.width), bounds[1])});
      });
  range.begin = c.max(range.begin, loop.getResult(0));
  range.end = c.min(range.end, loop.getResult(1));
  if (!range.isPlain)
    return;
  for (Value other : {most, leastKey, mostKey})
    range.isPlain = both(range.isPlain, isEqual(least, other));
}

Value ScoreCode::mayOverlap() {
  if (!changes.segments)
    return Value();
  auto [least, most] = getExtremes(queryIds, c.index(0), queriesOfBlock);
  return both(isAtMost(leastKey, most), isAtMost(least, mostKey));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void ScoreCode::allocate(int64_t queries, int64_t keys) {
  queriesOfBlock = queries;
  keysOfBlock = keys;
  if (!changes.segments)
    return;
  queryIds = allocateIds(queries);
  keyIds = allocateIds(keys);
  leastIds = allocateIds(keys / c.width);
  mostIds = allocateIds(keys / c.width);
}

void ScoreCode::startQueries(Value first, Value count) {
  firstQuery = first;
  queryCount = count;
  if (changes.slopes)
    slope = c.broadcast(c.loadNumber(changes.slopes, c.currentHead));
  if (changes.segments)
    packIds(queryIds, first, count, queriesOfBlock);
}

void ScoreCode::startKeys(Value first, Value count) {
  firstKey = first;
  keyCount = count;
  if (!changes.segments)
    return;
  packIds(keyIds, first, count, keysOfBlock);
  std::tie(leastKey, mostKey) = getExtremes(keyIds, c.index(0), keysOfBlock);
  c.loop(0, keysOfBlock / c.width, 1, [&](Value i) {
    auto [least, most] = getExtremes(keyIds, c.mul(i, c.width), c.width);
    storeId(least, leastIds, i);
    storeId(most, mostIds, i);
  });
}

std::pair<Value, Value> ScoreCode::getKeysOf(Value first, Value count) {
  Value begin = c.index(0), end = c.index(c.keys);
  if (changes.window != 0)
    begin =
        c.max(begin, c.sub(c.positionOf(first), c.index(changes.window - 1)));
  if (int64_t reach = getReach()) {
    Value last = c.sub(c.add(first, count), c.index(1));
    end = c.min(end, c.add(c.positionOf(last), reach));
  }
  return {begin, end};
}

std::pair<Value, Value> ScoreCode::getQueriesOf(Value first, Value count) {
  // A query is at its position minus the first query's.
  int64_t shift = c.keys - c.queries;
  Value begin = c.index(0), end = c.index(c.queries);
  if (int64_t reach = getReach())
    begin = c.max(begin, c.sub(first, c.index(reach - 1 + shift)));
  if (changes.window != 0) {
    Value last = c.sub(c.add(first, count), c.index(1));
    end = c.min(end, c.add(last, changes.window - shift));
  }
  return {begin, end};
}

Value ScoreCode::getEnd(Value row) {
  int64_t reach = getReach();
  if (reach == 0)
    return keyCount;
  Value position = c.positionOf(c.add(firstQuery, row));
  return c.max(c.index(0),
               c.min(keyCount, c.sub(c.add(position, reach), firstKey)));
}

Value ScoreCode::getBegin(Value row) {
  if (changes.window == 0)
    return c.index(0);
  Value position = c.positionOf(c.add(firstQuery, row));
  Value hidden = c.sub(c.add(position, 1 - changes.window), firstKey);
  return c.max(c.index(0), c.min(keyCount, hidden));
}

ScoreRange ScoreCode::getRange(Value row, int64_t rows) {
  Value last = c.add(row, rows - 1);
  ScoreRange range;
  range.begin = getBegin(row);
  range.end = getEnd(last);
  Value isWhole = isEqual(getEnd(row), c.index(keysOfBlock));
  if (changes.window != 0)
    isWhole = both(isWhole, isEqual(getBegin(last), c.index(0)));
  if (!hasChanges())
    range.isPlain = isWhole;
  // Segments leave out vectors of a block.
  if ((hasChanges() || changes.mask) && !changes.segments)
    range.isWhole = isWhole;
  if (changes.segments)
    narrowToSegments(range, row, rows);
  if (changes.mask && !isBroadcastOverKeys(changes.mask)) {
    auto [any, all] = scanMask(row, rows);
    range.end =
        arith::SelectOp::create(c.builder, c.loc, any, range.end, c.index(0));
    if (range.isPlain)
      range.isPlain = both(range.isPlain, all);
  } else if (changes.mask) {
    range.isPlain = Value();
  }
  int64_t unit = std::max(c.width, c.groupRows);
  range.begin = c.mul(c.divideDown(range.begin, unit), unit);
  return range;
}

//===----------------------------------------------------------------------===//
// Operands that are broadcast to the scores
//===----------------------------------------------------------------------===//

bool ScoreCode::isBroadcastOverKeys(Value operand) {
  return getShape(operand)[3] == 1;
}

/// Returns the address of the block's first key.
Value ScoreCode::keysFrom(Value operand, Value row) {
  // Rows that only fill the block read the last one.
  Value query = c.add(firstQuery, c.min(row, c.sub(queryCount, c.index(1))));
  Value pointer = c.getMatrix(operand, query)->pointer;
  if (isBroadcastOverKeys(operand))
    return pointer;
  return c.address(pointer, getElementInMemory(operand), firstKey);
}

/// Loads a vector of columns; those after the tensor's last key are 0.
Value ScoreCode::loadKeys(Value operand, Value pointer, Type element,
                          Value column) {
  auto type = VectorType::get({c.width}, element);
  if (isBroadcastOverKeys(operand))
    return c.broadcast(
        LLVM::LoadOp::create(c.builder, c.loc, element, pointer));
  Value from = c.address(pointer, element, column);
  unsigned alignment = getElementBytes(element);
  auto loadAll = [&]() -> Value {
    return LLVM::LoadOp::create(c.builder, c.loc, type, from, alignment);
  };
  if (c.keys % c.width == 0)
    return loadAll();
  Value left = c.sub(keyCount, column);
  auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange(type),
                                  isAtMost(c.index(c.width), left),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(c.builder, c.loc, loadAll());
  c.builder.setInsertionPointToStart(choice.elseBlock());
  Value zero =
      arith::ConstantOp::create(c.builder, c.loc, c.builder.getZeroAttr(type));
  Value some = LLVM::MaskedLoadOp::create(c.builder, c.loc, type, from,
                                          isBelow(left), zero, alignment);
  scf::YieldOp::create(c.builder, c.loc, some);
  return choice.getResult(0);
}

void ScoreCode::storeKeys(Value x, Value pointer, Value column) {
  Value to = c.address(pointer, c.type, c.add(firstKey, column));
  unsigned alignment = getElementBytes(c.type);
  auto storeAll = [&] {
    LLVM::StoreOp::create(c.builder, c.loc, x, to, alignment);
  };
  if (c.keys % c.width == 0)
    return storeAll();
  Value left = c.sub(keyCount, column);
  c.ifElse(isAtMost(c.index(c.width), left), storeAll, [&] {
    LLVM::MaskedStoreOp::create(c.builder, c.loc, x, to, isBelow(left),
                                alignment);
  });
}

/// Returns whether rows [row, row + rows) of the mask have any true element in
/// the block, and whether all of a whole block are true.
std::pair<Value, Value> ScoreCode::scanMask(Value row, int64_t rows) {
  Type i8 = c.builder.getI8Type();
  auto bytes = VectorType::get({c.width}, i8);
  auto fill = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        c.builder, c.loc,
        DenseElementsAttr::get(bytes, c.builder.getI8IntegerAttr(value)));
  };
  int64_t count = getShape(changes.mask)[2] == 1 ? 1 : rows;
  auto overRows = scf::ForOp::create(
      c.builder, c.loc, c.index(0), c.index(count), c.index(1),
      ValueRange{fill(0), fill(-1)},
      [&](OpBuilder &, Location, Value i, ValueRange before) {
        Value pointer = keysFrom(changes.mask, c.add(row, i));
        auto overKeys = scf::ForOp::create(
            c.builder, c.loc, c.index(0), keyCount, c.index(c.width), before,
            [&](OpBuilder &, Location, Value column, ValueRange sums) {
              Value x = loadKeys(changes.mask, pointer, i8, column);
              Value any = arith::OrIOp::create(c.builder, c.loc, sums[0], x);
              Value all = arith::AndIOp::create(c.builder, c.loc, sums[1], x);
              scf::YieldOp::create(c.builder, c.loc, ValueRange{any, all});
            });
        scf::YieldOp::create(c.builder, c.loc, overKeys.getResults());
      });
  Value zero = arith::ConstantOp::create(c.builder, c.loc,
                                         c.builder.getI8IntegerAttr(0));
  auto isSet = [&](vector::CombiningKind kind, Value x) -> Value {
    Value combined = vector::ReductionOp::create(c.builder, c.loc, kind, x);
    return arith::CmpIOp::create(c.builder, c.loc, arith::CmpIPredicate::ne,
                                 combined, zero);
  };
  return {isSet(vector::CombiningKind::OR, overRows.getResult(0)),
          isSet(vector::CombiningKind::AND, overRows.getResult(1))};
}

//===----------------------------------------------------------------------===//
// Vectors of scores
//===----------------------------------------------------------------------===//

void ScoreCode::forModes(const ScoreRange &range,
                         llvm::function_ref<void(ScoreMode)> emit) {
  auto emitSeen = [&] {
    if (!range.isWhole)
      return emit(ScoreMode::Partial);
    c.ifElse(
        range.isWhole, [&] { emit(ScoreMode::Whole); },
        [&] { emit(ScoreMode::Partial); });
  };
  auto emitIfAny = [&] {
    c.ifElse(c.isLess(range.begin, range.end), emitSeen);
  };
  if (!range.isPlain)
    return emitIfAny();
  c.ifElse(range.isPlain, [&] { emit(ScoreMode::Plain); }, emitIfAny);
}

void ScoreCode::multiply(BlockMatmul matmul, const ScoreRange &range,
                         ScoreMode mode,
                         llvm::function_ref<Value(Value)> getEndOfGroup) {
  matmul.vectors = keysOfBlock / c.width;
  if (mode == ScoreMode::Partial) {
    for (PackedMatrix *matrix : {&matmul.b, &matmul.c})
      matrix->pointer = c.at(*matrix, c.index(0), range.begin);
    matmul.vectorsOfRow = [&](Value row) {
      Value count = c.sub(getEndOfGroup(row), range.begin);
      return c.divideUp(c.max(c.index(0), count), c.width);
    };
  }
  c.matmul(matmul);
}

ScoreRow ScoreCode::getRow(Value row, ScoreMode mode) {
  ScoreRow result;
  result.position = c.positionOf(c.add(firstQuery, row));
  if (mode == ScoreMode::Partial) {
    result.to = getEnd(row);
    if (changes.window != 0)
      result.from = getBegin(row);
  }
  if (changes.bias)
    result.bias = keysFrom(changes.bias, row);
  if (changes.mask)
    result.mask = keysFrom(changes.mask, row);
  if (changes.segments)
    result.segment = c.broadcast(loadId(queryIds, row));
  return result;
}

ScoreRow ScoreCode::getRowAt(Value position) {
  ScoreRow result;
  result.position = position;
  result.to = keyCount;
  return result;
}

Value ScoreCode::change(const ScoreRow &row, Value column, Value scores,
                        Value *derivative) {
  if (derivative)
    *derivative = Value();
  if (changes.softCap != 0) {
    Value share = math::TanhOp::create(
        c.builder, c.loc, c.mulF(scores, c.splat(1 / changes.softCap)));
    scores = c.mulF(share, c.splat(changes.softCap));
    if (derivative)
      *derivative = c.subF(c.splat(1), c.mulF(share, share));
  }
  if (changes.slopes) {
    Value distance = arith::IndexCastOp::create(
        c.builder, c.loc, c.builder.getI32Type(),
        c.sub(c.add(firstKey, column), row.position));
    Value distances = arith::AddIOp::create(c.builder, c.loc,
                                            c.broadcast(distance), c.lanes());
    Value numbers =
        arith::SIToFPOp::create(c.builder, c.loc, c.vector, distances);
    scores = c.fma(numbers, slope, scores);
  }
  if (changes.bias) {
    Value bias = loadKeys(changes.bias, row.bias,
                          getElementTypeOrSelf(changes.bias), column);
    if (bias.getType() != c.vector)
      bias = arith::ExtFOp::create(c.builder, c.loc, c.vector, bias);
    scores = c.addF(bias, scores);
  }
  return scores;
}

Value ScoreCode::hide(const ScoreRow &row, Value column, Value x,
                      double outside) {
  Value seen = row.to ? isBelow(c.sub(row.to, column)) : Value();
  if (row.from) {
    Value hidden = isBelow(c.sub(row.from, column));
    Value all = arith::ConstantOp::create(
        c.builder, c.loc,
        DenseElementsAttr::get(cast<ShapedType>(hidden.getType()), true));
    seen = both(seen, arith::XOrIOp::create(c.builder, c.loc, hidden, all));
  }
  if (row.mask) {
    Value bytes =
        loadKeys(changes.mask, row.mask, c.builder.getI8Type(), column);
    Value zero = arith::ConstantOp::create(
        c.builder, c.loc, c.builder.getZeroAttr(bytes.getType()));
    seen = both(seen,
                arith::CmpIOp::create(c.builder, c.loc,
                                      arith::CmpIPredicate::ne, bytes, zero));
  }
  if (row.segment)
    seen = both(seen, isEqual(loadIds(keyIds, column), row.segment));
  if (!seen)
    return x;
  return arith::SelectOp::create(c.builder, c.loc, seen, x, c.splat(outside));
}
