//===- AttentionThread.cpp - What a thread of attention does --------------===//

#include "AttentionThread.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::pp;

AttentionThread::AttentionThread(OpBuilder &builder, KernelOp kernel,
                                 ValueRange buffers)
    : DeviceAttention(builder, kernel, buffers),
      tile(getAttentionTile(kernel)) {
  x = rem(thread, kAttentionColumns);
  y = div(thread, kAttentionColumns);
}

Fragment AttentionThread::fill(int64_t rows, int64_t columns, double value) {
  return {rows, columns, SmallVector<Value>(rows * columns, constant(value))};
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value AttentionThread::getRow(int64_t i) {
  return add(y, index(i * kThreadRows));
}
Value AttentionThread::getColumn(int64_t j) {
  return add(x, index(j * kAttentionColumns));
}

void AttentionThread::synchronizeWarp() {
  NVVM::SyncWarpOp::create(
      builder, loc,
      arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), -1));
}

Value AttentionThread::sumOverRow(Value value) {
  return sumOver(kAttentionColumns, value);
}
Value AttentionThread::maxOverRow(Value value) {
  return maxOver(kAttentionColumns, value);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value AttentionThread::getShared(const SharedMatrix &matrix, Value row,
                                 Value column) {
  Value at =
      add(index(matrix.begin), add(mul(row, matrix.getStride()), column));
  return getElement(shared, type, at);
}

Value AttentionThread::loadShared(const SharedMatrix &matrix, Value row,
                                  Value column) {
  return LLVM::LoadOp::create(builder, loc, type,
                              getShared(matrix, row, column));
}

void AttentionThread::storeShared(Value value, const SharedMatrix &matrix,
                                  Value row, Value column) {
  LLVM::StoreOp::create(builder, loc, value, getShared(matrix, row, column));
}

void AttentionThread::copyRows(Value operand, Value first, int64_t count,
                               int64_t width, const SharedMatrix &matrix,
                               double factor) {
  int64_t elements = matrix.rows * matrix.columns;
  // Tiles have multiples of 16 × 16 elements: as many as threads.
  loop(thread, index(elements), kAttentionThreads, {},
       [&](Value number, ValueRange) -> SmallVector<Value> {
         Value inTile = div(number, matrix.columns);
         Value column = rem(number, matrix.columns);
         Value from = add(first, inTile);
         Value isInside = isBelow(from, index(count));
         if (width != matrix.columns)
           isInside = both(isInside, isBelow(column, index(width)));
         Value element = loadIf(isInside, operand, from, column);
         if (factor != 1)
           element = mulF(element, constant(factor));
         storeShared(element, matrix, inTile, column);
         return {};
       });
}

void AttentionThread::storeRows(Fragment &fragment, Value value, Value first,
                                int64_t count, int64_t width, Value factor) {
  for (int64_t i = 0; i < fragment.rows; ++i)
    for (int64_t j = 0; j < fragment.columns; ++j) {
      Value to = add(first, getRow(i)), column = getColumn(j);
      Value isInside = isBelow(to, index(count));
      if ((j + 1) * kAttentionColumns > width)
        isInside = both(isInside, isBelow(column, index(width)));
      emitIf(isInside, [&] {
        Value element = fragment.at(i, j);
        store(factor ? mulF(element, factor) : element, value, to, column);
      });
    }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Fragment
AttentionThread::multiply(Fragment sum, int64_t depth,
                          llvm::function_ref<Value(int64_t, Value)> a,
                          llvm::function_ref<Value(int64_t, Value)> b) {
  sum.values = loop(
      index(0), index(depth), 1, sum.values, [&](Value d, ValueRange sums) {
        SmallVector<Value> left, right, next;
        for (int64_t i = 0; i < sum.rows; ++i)
          left.push_back(a(i, d));
        for (int64_t j = 0; j < sum.columns; ++j)
          right.push_back(b(j, d));
        for (int64_t i = 0; i < sum.rows; ++i)
          for (int64_t j = 0; j < sum.columns; ++j)
            next.push_back(math::FmaOp::create(builder, loc, left[i], right[j],
                                               sums[i * sum.columns + j]));
        return next;
      });
  return sum;
}

Fragment AttentionThread::addProduct(Fragment sum, const SharedMatrix &a,
                                     const SharedMatrix &b, int64_t depth) {
  return multiply(
      std::move(sum), depth,
      [&](int64_t i, Value d) { return loadShared(a, getRow(i), d); },
      [&](int64_t j, Value d) { return loadShared(b, getColumn(j), d); });
}

Fragment AttentionThread::addWeighted(Fragment sum, const SharedMatrix &a,
                                      const SharedMatrix &b, int64_t depth) {
  return multiply(
      std::move(sum), depth,
      [&](int64_t i, Value c) { return loadShared(a, getRow(i), c); },
      [&](int64_t j, Value c) { return loadShared(b, c, getColumn(j)); });
}
