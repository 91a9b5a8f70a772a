//===- AttentionThread.cpp - What a thread of attention does --------------===//

#include "AttentionThread.h"

#include "Shuffle.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

/// Returns the memory that a launch gives to a block, whose size the kernel's
/// `threads` say.
static Value getSharedMemory(OpBuilder &builder, Location loc) {
  auto module =
      builder.getInsertionBlock()->getParent()->getParentOfType<ModuleOp>();
  constexpr StringLiteral kName = "ppopt_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, kName, Attribute(),
        /*alignment=*/16, static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

AttentionThread::AttentionThread(OpBuilder &builder, KernelOp kernel,
                                 ValueRange buffers)
    : AttentionShape(getAttention(kernel)), builder(builder),
      op(getAttention(kernel)), loc(op->getLoc()),
      type(getStatisticsType(getElementTypeOrSelf(op->getOperand(0)))),
      tile(getAttentionTile(kernel)), unit(type.isF64() ? 1 : std::log(2.0)),
      kernel(kernel), buffers(buffers) {
  shared = getSharedMemory(builder, loc);
  Type i32 = builder.getI32Type();
  thread = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(),
      NVVM::ThreadIdXOp::create(builder, loc, i32).getResult());
  Value columns = index(kAttentionColumns);
  x = arith::RemUIOp::create(builder, loc, thread, columns);
  y = arith::DivUIOp::create(builder, loc, thread, columns);
}

void AttentionThread::setPart(int64_t parts) {
  Value number = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(),
      NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()).getResult());
  auto split = [&](int64_t size) {
    Value count = index(size);
    Value rest = arith::RemUIOp::create(builder, loc, number, count);
    number = arith::DivUIOp::create(builder, loc, number, count);
    return rest;
  };
  part = split(parts);
  head = split(heads);
  row = number;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value AttentionThread::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value AttentionThread::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}
Value AttentionThread::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value AttentionThread::mul(Value a, int64_t b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, index(b));
}
Value AttentionThread::min(Value a, Value b) {
  return arith::MinUIOp::create(builder, loc, a, b);
}
Value AttentionThread::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}
Value AttentionThread::both(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value AttentionThread::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value AttentionThread::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value AttentionThread::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value AttentionThread::maxF(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b);
}
Value AttentionThread::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value AttentionThread::exp(Value x) {
  if (type.isF64())
    return math::ExpOp::create(builder, loc, x);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type,
             builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

Value AttentionThread::log(Value x) {
  return mulF(math::LogOp::create(builder, loc, x), constant(1 / unit));
}

Fragment AttentionThread::fill(int64_t rows, int64_t columns, double value) {
  return {rows, columns, SmallVector<Value>(rows * columns, constant(value))};
}

SmallVector<Value> AttentionThread::loop(
    Value begin, Value end, int64_t step, ValueRange values,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(step), values);
  OpBuilder::InsertionGuard guard(builder);
  if (values.empty())
    loop.getBody()->clear();
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
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

void AttentionThread::synchronizeBlock() {
  NVVM::Barrier0Op::create(builder, loc);
}
void AttentionThread::synchronizeWarp() {
  NVVM::SyncWarpOp::create(
      builder, loc,
      arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), -1));
}

Value AttentionThread::sumOverRow(Value value) {
  for (int64_t distance = 1; distance < kAttentionColumns; distance *= 2)
    value = addF(value, emitShuffle(builder, loc, value, distance));
  return value;
}

Value AttentionThread::maxOverRow(Value value) {
  for (int64_t distance = 1; distance < kAttentionColumns; distance *= 2)
    value = maxF(value, emitShuffle(builder, loc, value, distance));
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value AttentionThread::getShared(const SharedMatrix &matrix, Value row,
                                 Value column) {
  Value at =
      add(index(matrix.begin), add(mul(row, matrix.getStride()), column));
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
  return LLVM::GEPOp::create(builder, loc, shared.getType(), type, shared,
                             ArrayRef<LLVM::GEPArg>{number},
                             LLVM::GEPNoWrapFlags::inbounds);
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

/// Returns the address of [row, column] of the current head; null for a result
/// that is not used. A null column is for values without columns.
Value AttentionThread::getAddress(Value value, Value inHead, Value column) {
  Layout layout = getAttentionLayout(op, value);
  std::optional<unsigned> buffer = getAttentionBuffer(kernel, layout);
  if (!buffer)
    return Value();
  Value at = add(
      index(layout.offset),
      add(mul(row, layout.strides[0]),
          add(mul(head, layout.strides[1]), mul(inHead, layout.strides[2]))));
  if (column)
    at = add(at, mul(column, layout.strides[3]));
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
  Value pointer = buffers[*buffer];
  return LLVM::GEPOp::create(
      builder, loc, pointer.getType(), getElementTypeOrSelf(value), pointer,
      ArrayRef<LLVM::GEPArg>{number}, LLVM::GEPNoWrapFlags::inbounds);
}

Value AttentionThread::load(Value value, Value row, Value column) {
  Type element = getElementTypeOrSelf(value);
  Value loaded = LLVM::LoadOp::create(builder, loc, element,
                                      getAddress(value, row, column));
  return element == type
             ? loaded
             : arith::ExtFOp::create(builder, loc, type, loaded).getResult();
}

void AttentionThread::store(Value stored, Value value, Value row,
                            Value column) {
  Value address = getAddress(value, row, column);
  if (!address)
    return;
  Type element = getElementTypeOrSelf(value);
  if (element != type)
    stored = arith::TruncFOp::create(builder, loc, element, stored);
  LLVM::StoreOp::create(builder, loc, stored, address);
}

Value AttentionThread::loadIf(Value condition, Value value, Value row,
                              Value column) {
  auto branch = scf::IfOp::create(builder, loc, type, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, load(value, row, column));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, constant(0));
  return branch.getResult(0);
}

void AttentionThread::copyRows(Value operand, Value first, int64_t count,
                               int64_t width, const SharedMatrix &matrix,
                               double factor) {
  int64_t elements = matrix.rows * matrix.columns;
  Value columns = index(matrix.columns);
  // Tiles have multiples of 16 × 16 elements: as many as threads.
  loop(thread, index(elements), kAttentionThreads, {},
       [&](Value number, ValueRange) -> SmallVector<Value> {
         Value inTile = arith::DivUIOp::create(builder, loc, number, columns);
         Value column = arith::RemUIOp::create(builder, loc, number, columns);
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
      auto branch = scf::IfOp::create(builder, loc, isInside);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value element = fragment.at(i, j);
      store(factor ? mulF(element, factor) : element, value, to, column);
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
