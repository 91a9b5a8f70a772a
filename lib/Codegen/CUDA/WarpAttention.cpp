//===- WarpAttention.cpp - What a warp of attention does ------------------===//

#include "WarpAttention.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "Shuffle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::pp;

/// The elements that a thread copies at a time: 16 bytes.
static constexpr int64_t kVector = 8;

/// The threads that compute D of a query.
static constexpr int64_t kThreadsOfNumber = 2;

WarpAttention::WarpAttention(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers)
    : DeviceAttention(builder, kernel, buffers), tile(getWarpTile(kernel)),
      scores(*this, tile.rows, tile.columns),
      fragments(tile.rowsOfWarp / kProductRows),
      widest(std::max(tile.columnQK.columns, tile.columnV.columns)) {
  lane = rem(thread, kWarp);
  warpRow = mul(div(thread, kWarp), tile.rowsOfWarp);
  group = div(lane, 4);
  pair = mul(rem(lane, 4), 2);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value WarpAttention::getRow(int64_t fragment, int64_t half) {
  return add(add(warpRow, group), index(fragment * kProductRows + half * 8));
}

Value WarpAttention::isFirstOfRow() { return isBelow(pair, index(2)); }

//===----------------------------------------------------------------------===//
// Tiles of operands
//===----------------------------------------------------------------------===//

bool WarpAttention::isAligned(Value value, int64_t elements) {
  Layout layout = getAttentionLayout(op, value);
  std::optional<unsigned> buffer = getAttentionBuffer(kernel, layout);
  if (!buffer)
    return false;
  auto argument = cast<BlockArgument>(buffers[*buffer]);
  auto function = cast<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp());
  auto isMultiple = [&](int64_t number) { return number % elements == 0; };
  return function.getArgAttr(argument.getArgNumber(),
                             LLVM::LLVMDialect::getAlignAttrName()) &&
         layout.strides[3] == 1 && isMultiple(layout.offset) &&
         llvm::all_of(ArrayRef(layout.strides).take_front(3), isMultiple);
}

/// Returns 8 neighbouring elements where a condition holds, zero elsewhere and
/// after `width` columns.
Value WarpAttention::loadEight(Value condition, Value operand, Value row,
                               Value column, int64_t width) {
  auto eight = VectorType::get({kVector}, builder.getBF16Type());
  auto zeros = [&]() -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(eight));
  };
  bool isWhole = width % kVector == 0;
  if (isWhole && isAligned(operand, kVector))
    return emitIfElse(
        condition,
        [&]() -> Value {
          return LLVM::LoadOp::create(builder, loc, eight,
                                      getAddress(operand, row, column),
                                      /*alignment=*/16);
        },
        zeros);
  auto loadOne = [&](int64_t i) -> Value {
    return LLVM::LoadOp::create(
        builder, loc, builder.getBF16Type(),
        getAddress(operand, row, add(column, index(i))));
  };
  return emitIfElse(
      condition,
      [&] {
        Value vector = zeros();
        for (int64_t i = 0; i < kVector; ++i) {
          Value isInside =
              isWhole ? Value() : isBelow(add(column, index(i)), index(width));
          Value element = emitIfElse(
              isInside, [&] { return loadOne(i); },
              [&]() -> Value {
                return arith::ConstantOp::create(
                    builder, loc, builder.getZeroAttr(builder.getBF16Type()));
              });
          vector = LLVM::InsertElementOp::create(
              builder, loc, vector, element,
              LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), i));
        }
        return vector;
      },
      zeros);
}

int64_t WarpAttention::countVectors(const WarpMatrix &matrix) {
  return llvm::divideCeil(matrix.rows * matrix.columns / kVector,
                          tile.getThreads());
}

SmallVector<Value> WarpAttention::fetch(Value operand, Value first,
                                        int64_t count, int64_t width,
                                        const WarpMatrix &matrix) {
  SmallVector<Value> fetched;
  int64_t ofRow = matrix.columns / kVector;
  for (int64_t i = 0, e = countVectors(matrix); i < e; ++i) {
    Value number = add(thread, index(i * tile.getThreads()));
    // Also of the tile after the last, whose rows do not exist.
    Value inTile = div(number, ofRow), from = add(first, inTile);
    Value column = mul(rem(number, ofRow), kVector);
    Value isInside = isBelow(from, index(count));
    if ((i + 1) * tile.getThreads() > matrix.rows * ofRow)
      isInside = both(isInside, isBelow(inTile, index(matrix.rows)));
    if (width <= matrix.columns - kVector)
      isInside = both(isInside, isBelow(column, index(width)));
    fetched.push_back(loadEight(isInside, operand, from, column, width));
  }
  return fetched;
}

Value WarpAttention::getElementOf(const WarpMatrix &matrix, Value row,
                                  Value column) {
  Type element = builder.getBF16Type();
  Value at =
      add(index(matrix.begin / 2), add(mul(row, matrix.getStride()), column));
  return getElement(shared, element, at);
}

void WarpAttention::put(ValueRange &fetched, const WarpMatrix &matrix) {
  int64_t ofRow = matrix.columns / kVector, count = countVectors(matrix);
  for (int64_t i = 0; i < count; ++i) {
    Value number = add(thread, index(i * tile.getThreads()));
    auto store = [&] {
      LLVM::StoreOp::create(builder, loc, fetched[i],
                            getElementOf(matrix, div(number, ofRow),
                                         mul(rem(number, ofRow), kVector)),
                            /*alignment=*/16);
    };
    if ((i + 1) * tile.getThreads() > matrix.rows * ofRow)
      emitIf(isBelow(number, index(matrix.rows * ofRow)), store);
    else
      store();
  }
  fetched = fetched.drop_front(count);
}

int64_t WarpAttention::countNumbers(int64_t rows) {
  return llvm::divideCeil(kThreadsOfNumber * rows, tile.getThreads());
}

SmallVector<Value> WarpAttention::fetchNumbers(Value firstQuery, int64_t rows) {
  auto grad = cast<AttentionGradOp>(op);
  int64_t vectors = llvm::divideCeil(valueWidth, kVector);
  Value half = rem(thread, kThreadsOfNumber);
  auto wide = VectorType::get({kVector}, type);
  SmallVector<Value> fetched;
  for (int64_t n = 0, e = countNumbers(rows); n < e; ++n) {
    Value inTile =
        div(add(thread, index(n * tile.getThreads())), kThreadsOfNumber);
    Value query = add(firstQuery, inTile);
    Value isInside =
        both(isBelow(inTile, index(rows)), isBelow(query, index(queries)));
    Value delta = constant(0);
    for (int64_t i = 0; i < vectors; i += kThreadsOfNumber) {
      Value column = mul(add(half, index(i)), kVector), isVector = isInside;
      if (i + kThreadsOfNumber > vectors)
        isVector = both(isVector, isBelow(column, index(valueWidth)));
      auto read = [&](Value operand) -> Value {
        return arith::ExtFOp::create(
            builder, loc, wide,
            loadEight(isVector, operand, query, column, valueWidth));
      };
      Value products = mulF(read(grad.getOut()), read(grad.getDout()));
      for (int64_t j = 0; j < kVector; ++j)
        delta = addF(delta, LLVM::ExtractElementOp::create(
                                builder, loc, products,
                                LLVM::ConstantOp::create(
                                    builder, loc, builder.getI32Type(), j)));
    }
    fetched.push_back(sumOver(kThreadsOfNumber, delta));
    for (int64_t part = 0; part < 2; ++part)
      fetched.push_back(loadIf(isInside, grad.getLse(), query, index(part)));
  }
  return fetched;
}

void WarpAttention::putNumbers(ValueRange &fetched, int64_t rows) {
  int64_t count = countNumbers(rows);
  for (int64_t n = 0; n < count; ++n) {
    Value number = add(thread, index(n * tile.getThreads()));
    Value inTile = div(number, kThreadsOfNumber);
    Value isMine = isBelow(rem(number, kThreadsOfNumber), index(1));
    emitIf(both(isMine, isBelow(inTile, index(rows))), [&] {
      for (auto [i, numbers] :
           llvm::enumerate(std::array{tile.delta, tile.maximum, tile.logSum}))
        LLVM::StoreOp::create(
            builder, loc, fetched[3 * n + i],
            getElement(shared, type, add(index(numbers.begin / 4), inTile)));
    });
  }
  fetched = fetched.drop_front(3 * count);
}

Value WarpAttention::loadNumber(const WarpNumbers &numbers, Value row) {
  return LLVM::LoadOp::create(
      builder, loc, type,
      getElement(shared, type, add(index(numbers.begin / 4), row)));
}

SmallVector<Value> WarpAttention::sweepColumns(
    ArrayRef<ColumnRange> ranges, ValueRange state,
    llvm::function_ref<SmallVector<Value>(Value)> fetch,
    llvm::function_ref<void(ValueRange)> put,
    llvm::function_ref<SmallVector<Value>(Value, bool, ValueRange)> body) {
  // Registers hold the next tile while this one is computed.
  constexpr int64_t kWidestAhead = 64;
  bool isAhead = widest <= kWidestAhead;
  SmallVector<Value> values(state);
  if (isAhead)
    values.append(fetch(ranges.front().begin));
  for (const ColumnRange &range : ranges)
    values =
        loop(range.begin, range.end, tile.columns, values,
             [&](Value first, ValueRange carried) {
               SmallVector<Value> fetched;
               if (isAhead)
                 fetched = llvm::to_vector(carried.drop_front(state.size()));
               else
                 fetched = fetch(first);
               // All have read the tile before.
               synchronizeBlock();
               put(fetched);
               synchronizeBlock();
               SmallVector<Value> next;
               if (isAhead)
                 next = fetch(add(first, index(tile.columns)));
               SmallVector<Value> results = body(
                   first, range.isMasked, carried.take_front(state.size()));
               results.append(next);
               return results;
             });
  values.truncate(state.size());
  return values;
}

SmallVector<ColumnRange> WarpAttention::divideColumns(SeenRange some,
                                                      SeenRange all) {
  if (scores.hideElements())
    return {{some.begin, some.end, true}};
  int64_t columns = tile.columns;
  Value end = mul(div(all.end, columns), columns);
  if (matchPattern(all.begin, m_Zero()))
    return {{some.begin, end, false}, {end, some.end, true}};
  Value begin = mul(div(add(all.begin, index(columns - 1)), columns), columns);
  begin = min(begin, max(some.begin, some.end));
  end = max(begin, end);
  return {
      {some.begin, begin, true}, {begin, end, false}, {end, some.end, true}};
}

SmallVector<ColumnRange> WarpAttention::getKeyRanges(Value first) {
  int64_t columns = tile.columns;
  Value zero = index(0), end = index(keys);
  bool isGradient = isa<AttentionGradOp>(op);
  if (isGradient && scores.isDiagonal()) {
    // As many columns as rows: one tile has keys that not all rows see.
    Value next = min(add(first, index(columns)), end);
    return {{zero, first, false}, {first, next, true}};
  }
  if (isCausal || scores.window != 0 || scores.hideElements())
    return divideColumns(scores.getKeys(first, tile.rows, columns),
                         scores.getKeysOfAll(first, tile.rows));
  Value whole = index(llvm::alignDown(keys, columns));
  SmallVector<ColumnRange> ranges;
  if (keys >= columns)
    ranges.push_back({zero, whole, false});
  if (keys % columns != 0)
    ranges.push_back({whole, end, true});
  return ranges;
}

SmallVector<ColumnRange> WarpAttention::getQueryRanges(Value first) {
  int64_t columns = tile.columns;
  Value end = index(queries);
  if (scores.isDiagonal()) {
    // Queries before the tile see no key of it, those after it all keys.
    Value next = add(first, index(columns));
    return {{first, min(next, end), true}, {next, end, false}};
  }
  if (isCausal || scores.window != 0 || scores.hideElements())
    return divideColumns(scores.getQueries(first, tile.rows, columns),
                         scores.getQueriesOfAll(first, tile.rows));
  return {{index(0), end, false}};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpAttention::loadFragment(const WarpMatrix &matrix,
                                               int64_t fragment,
                                               int64_t depth) {
  Value row = add(add(warpRow, rem(lane, kProductRows)),
                  index(fragment * kProductRows));
  Value column = add(mul(div(lane, kProductRows), kMatrix), index(depth));
  return emitLoadMatrices(builder, loc, getElementOf(matrix, row, column), 4,
                          /*isTransposed=*/false);
}

SmallVector<Value> WarpAttention::holdRows(const WarpMatrix &matrix) {
  // The gradient holds two operands and, for keys, two results.
  int64_t widestHeld = isa<AttentionOp>(op) ? 128 : 64;
  SmallVector<Value> held;
  if (widest > widestHeld)
    return held;
  for (int64_t fragment = 0; fragment < fragments; ++fragment)
    for (int64_t depth = 0; depth < matrix.columns; depth += kProductDepth)
      held.append(loadFragment(matrix, fragment, depth));
  return held;
}

SmallVector<Value> WarpAttention::multiply(ArrayRef<Value> held,
                                           const WarpMatrix &a,
                                           const WarpMatrix &b, Value first) {
  if (held.empty())
    // Without it LLVM would load the fragments once, and spill them.
    NVVM::SyncWarpOp::create(
        builder, loc,
        arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), -1));
  constexpr int64_t kNumbers = 8; // two products of 8 columns
  SmallVector<Value> sums(fragments * kNumbers, constant(0));
  Value row = add(
      first, add(rem(lane, kMatrix), mul(div(lane, kProductRows), kMatrix)));
  Value column = mul(rem(div(lane, kMatrix), 2), kMatrix);
  int64_t steps = a.columns / kProductDepth;
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Value> right = emitLoadMatrices(
        builder, loc,
        getElementOf(b, row, add(column, index(step * kProductDepth))), 4,
        /*isTransposed=*/false);
    for (int64_t fragment = 0; fragment < fragments; ++fragment) {
      SmallVector<Value> left;
      if (held.empty())
        left = loadFragment(a, fragment, step * kProductDepth);
      else
        left = llvm::to_vector(held.slice((fragment * steps + step) * 4, 4));
      for (int64_t n = 0; n < 2; ++n) {
        auto sum = MutableArrayRef(sums).slice(fragment * kNumbers + n * 4, 4);
        llvm::copy(emitProduct(builder, loc, left,
                               ArrayRef(right).slice(n * 2, 2), sum),
                   sum.begin());
      }
    }
  }
  return sums;
}

SmallVector<Value> WarpAttention::fillSums(const WarpMatrix &b) {
  return SmallVector<Value>(fragments * b.columns / 2, constant(0));
}

void WarpAttention::addWeighted(MutableArrayRef<Value> sums, ArrayRef<Value> p,
                                const WarpMatrix &b, Value first) {
  SmallVector<Value> left;
  for (size_t i = 0; i < p.size(); i += 2)
    left.push_back(emitPack(builder, loc, p[i], p[i + 1]));
  Value row = add(first, rem(lane, kProductRows));
  Value column = mul(div(lane, kProductRows), kMatrix);
  int64_t products = b.columns / kProductColumns;
  for (int64_t product = 0; product < products; product += 2) {
    SmallVector<Value> right = emitLoadMatrices(
        builder, loc,
        getElementOf(b, row, add(column, index(product * kProductColumns))), 4,
        /*isTransposed=*/true);
    for (int64_t fragment = 0; fragment < fragments; ++fragment)
      for (int64_t n = 0; n < 2; ++n) {
        auto sum = sums.slice((fragment * products + product + n) * 4, 4);
        llvm::copy(emitProduct(builder, loc,
                               ArrayRef(left).slice(fragment * 4, 4),
                               ArrayRef(right).slice(n * 2, 2), sum),
                   sum.begin());
      }
  }
}

void WarpAttention::storeSums(ArrayRef<Value> sums, ArrayRef<Value> factors,
                              Value result, Value first, int64_t count,
                              int64_t width) {
  if (!getAttentionBuffer(kernel, getAttentionLayout(op, result)))
    return;
  int64_t products = sums.size() / (fragments * 4);
  bool isPaired = width % 2 == 0 && isAligned(result, 2);
  auto storeTwo = [&](Value row, int64_t n, ArrayRef<Value> two) {
    Value column = add(pair, index(n * kProductColumns));
    bool isInside = (n + 1) * kProductColumns <= width;
    auto emitWhere = [&](Value at, llvm::function_ref<void()> body) {
      return isInside ? body() : emitIf(isBelow(at, index(width)), body);
    };
    if (isPaired)
      return emitWhere(column, [&] {
        LLVM::StoreOp::create(builder, loc,
                              emitPack(builder, loc, two[0], two[1]),
                              getAddress(result, row, column), /*alignment=*/4);
      });
    for (int64_t i = 0; i < 2; ++i) {
      Value at = add(column, index(i));
      emitWhere(at, [&] { store(two[i], result, row, at); });
    }
  };
  for (int64_t fragment = 0; fragment < fragments; ++fragment)
    for (int64_t half = 0; half < 2; ++half) {
      Value row = add(first, getRow(fragment, half));
      auto scale = [&](Value sum) {
        return factors.empty() ? sum : mulF(sum, factors[fragment * 2 + half]);
      };
      emitIf(isBelow(row, index(count)), [&] {
        for (int64_t n = 0; n < products; ++n) {
          ArrayRef<Value> two =
              sums.slice((fragment * products + n) * 4 + half * 2, 2);
          storeTwo(row, n, {scale(two[0]), scale(two[1])});
        }
      });
    }
}
