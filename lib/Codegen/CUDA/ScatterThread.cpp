//===- ScatterThread.cpp - The list of rows that a block adds -------------===//
//
// Warps have neighbouring parts of the ids, or of the list, and lanes take
// turns at them. Of what lanes choose each counts what lanes and warps before
// it have chosen, which is its place: the order is kept. The list is sorted by
// one bit of the rows after the other, from the lowest on.
//
//===----------------------------------------------------------------------===//

#include "ScatterThread.h"

#include "Shuffle.h"

#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Codegen/TableRows.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::pp;

/// Ids of a thread between barriers, and entries that it moves at a time: their
/// loads are in flight together.
static constexpr int64_t kMostIds = 16, kMovedEntries = 4;

ScatterPlan::ScatterPlan(KernelOp kernel)
    : rows(kernel.getFormAttr().getRows()),
      columns(kernel.getFormAttr().getColumns()),
      threads(kernel.getThreadsAttr()), width(kernel.getTilesAttr().getSize()) {
  Value table = kernel.getFormOp()->getResult(0);
  tableRows = getShape(table).front();
  element = getElementTypeOrSelf(table);
  int64_t block = kernel.getTilesAttr().getBlock();
  if (block == 0)
    block = tableRows;
  groups = llvm::divideCeil(tableRows, block);
  teams = threads.getCount() / threads.getPerRow();
  rowBits = llvm::Log2_64_Ceil(block);
  numberBits = llvm::Log2_64_Ceil(rows);
  entryBits = rowBits + numberBits < 32 ? 32 : 64;
  capacity = (threads.getShared() - getOtherBytes()) / getListBytes(1);
  // Ids fit twice, so that the list is half full when it is sorted.
  idsOfThread =
      std::clamp<int64_t>(capacity / 2 / threads.getCount(), 1, kMostIds);
}

int64_t ScatterPlan::getSumBytes() const {
  return threads.getCount() * threads.getEach() *
         getElementBytes(getStatisticsType(element));
}

int64_t ScatterPlan::getOtherBytes() const {
  return getSumBytes() + threads.getCount() / kWarp * 4;
}

ScatterThread::ScatterThread(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers)
    : DeviceThread(builder, kernel.getLoc()), kernel(kernel), buffers(buffers),
      plan(kernel), op(cast<EmbeddingGradOp>(kernel.getFormOp())) {
  group = div(getBlock(), llvm::divideCeil(plan.columns, plan.width));
  warp = div(thread, kWarp);
  lane = rem(thread, kWarp);
  Value bit = arith::ShLIOp::create(
      builder, loc, word(1),
      arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), lane));
  lanesBefore = arith::SubIOp::create(builder, loc, bit, word(1));
  countMemory =
      getElement(shared, builder.getI8Type(),
                 index(plan.getListBytes(plan.capacity) + plan.getSumBytes()));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ScatterThread::isEqual(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
}

Value ScatterThread::isNot(Value condition) {
  Value yes =
      arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1);
  return arith::XOrIOp::create(builder, loc, condition, yes);
}

Value ScatterThread::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScatterThread::toIndex(Value number) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      number);
}

Value ScatterThread::word(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

//===----------------------------------------------------------------------===//
// The warps of the block
//===----------------------------------------------------------------------===//

Value ScatterThread::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI32Type(), word(-1),
                                  condition, NVVM::VoteSyncKind::ballot);
}

Value ScatterThread::countBits(Value bits) {
  return toIndex(math::CtPopOp::create(builder, loc, bits));
}

Value ScatterThread::countBefore(Value bits) {
  return countBits(arith::AndIOp::create(builder, loc, bits, lanesBefore));
}

std::pair<Value, Value> ScatterThread::sumOverWarps(Value count) {
  Type i32 = builder.getI32Type();
  emitIf(isEqual(lane, index(0)), [&] {
    LLVM::StoreOp::create(
        builder, loc, arith::IndexCastUIOp::create(builder, loc, i32, count),
        getElement(countMemory, i32, warp));
  });
  synchronizeBlock();
  Value before = index(0), all = index(0);
  for (int64_t i = 0; i < plan.threads.getCount() / kWarp; ++i) {
    Value ofWarp = toIndex(load(countMemory, i32, index(i)));
    before = add(before, select(isBelow(index(i), warp), ofWarp, index(0)));
    all = add(all, ofWarp);
  }
  return {before, all};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Value ScatterThread::entryOf(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, getEntryType(), value);
}

Value ScatterThread::makeEntry(Value row, Value number) {
  auto cast = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, getEntryType(), value);
  };
  Value upper =
      arith::ShLIOp::create(builder, loc, cast(row), entryOf(plan.numberBits));
  return arith::OrIOp::create(builder, loc, upper, cast(number));
}

void ScatterThread::storeEntry(Value entry, Value at) {
  LLVM::StoreOp::create(builder, loc, entry,
                        getElement(shared, getEntryType(), at));
}

Value ScatterThread::getRow(Value entry) {
  return arith::ShRUIOp::create(builder, loc, entry, entryOf(plan.numberBits));
}

Value ScatterThread::getNumber(Value entry) {
  Value mask = entryOf((int64_t(1) << plan.numberBits) - 1);
  return toIndex(arith::AndIOp::create(builder, loc, entry, mask));
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

Value ScatterThread::listIds(Value first, Value count) {
  Value mine = add(add(first, mul(warp, plan.idsOfThread * kWarp)), lane);
  SmallVector<Value> entries, areListed, ballots;
  for (int64_t i = 0; i < plan.idsOfThread; ++i) {
    Value number = add(mine, index(i * kWarp));
    Value isId = isBelow(number, index(plan.rows));
    number = min(number, index(plan.rows - 1));
    ElementPuller puller(builder, kernel, buffers);
    Position position = startRow(puller, number);
    position.index.back() = index(0);
    puller.setPosition(position, nullptr);
    TableRow row = pullTableRow(puller, op);
    entries.push_back(makeEntry(div(row.index, plan.groups), number));
    areListed.push_back(both(both(isId, row.isInside),
                             isEqual(rem(row.index, plan.groups), group)));
  }
  Value ofWarp = index(0);
  for (Value isListed : areListed) {
    ballots.push_back(ballot(isListed));
    ofWarp = add(ofWarp, countBits(ballots.back()));
  }
  auto [before, all] = sumOverWarps(ofWarp);
  Value end = add(count, before);
  for (auto [entry, isListed, lanes] : llvm::zip(entries, areListed, ballots)) {
    emitIf(isListed, [&, entry = entry, lanes = lanes] {
      storeEntry(entry, add(end, countBefore(lanes)));
    });
    end = add(end, countBits(lanes));
  }
  synchronizeBlock();
  return add(count, all);
}

/// Loads entries of the thread from the number `first` on.
ScatterThread::Entries ScatterThread::loadEntries(Value first, Value list,
                                                  Value count, Value bit) {
  Entries found;
  Value last = sub(count, index(1));
  for (int64_t i = 0; i < kMovedEntries; ++i) {
    Value number = add(first, index(i * kWarp));
    found.numbers.push_back(number);
    found.entries.push_back(loadEntry(add(list, min(number, last))));
  }
  for (auto [number, entry] : llvm::zip(found.numbers, found.entries)) {
    Value shifted = arith::ShRUIOp::create(builder, loc, entry, bit);
    Value lowest = arith::AndIOp::create(builder, loc, shifted, entryOf(1));
    Value isZero = both(isEqual(lowest, entryOf(0)), isBelow(number, count));
    found.areZeros.push_back(isZero);
    found.zeros.push_back(ballot(isZero));
  }
  return found;
}

/// Moves the entries to another list, first those whose bit is 0.
void ScatterThread::sortByBit(Value from, Value to, Value count, Value bit) {
  constexpr int64_t kStep = kMovedEntries * kWarp;
  int64_t step = plan.threads.getCount() * kMovedEntries;
  Value ofWarp = mul(div(add(count, index(step - 1)), step), kStep);
  Value first = add(mul(warp, ofWarp), lane);
  auto forEntries = [&](Value initial,
                        llvm::function_ref<Value(Entries &, Value)> body) {
    return loop(index(0), ofWarp, kStep, {initial},
                [&](Value i, ValueRange sums) {
                  Entries found = loadEntries(add(first, i), from, count, bit);
                  return SmallVector<Value>{body(found, sums[0])};
                })
        .front();
  };
  Value zeros = forEntries(index(0), [&](Entries &found, Value sum) {
    for (Value lanes : found.zeros)
      sum = add(sum, countBits(lanes));
    return sum;
  });
  auto [before, all] = sumOverWarps(zeros);
  forEntries(before, [&, all = all](Entries &found, Value sum) {
    for (auto [number, entry, isZero, lanes] :
         llvm::zip(found.numbers, found.entries, found.areZeros, found.zeros)) {
      Value zerosBefore = add(sum, countBefore(lanes));
      Value onesBefore = sub(number, zerosBefore);
      Value at = select(isZero, zerosBefore, add(all, onesBefore));
      emitIf(isBelow(number, count),
             [&, entry = entry] { storeEntry(entry, add(to, at)); });
      sum = add(sum, countBits(lanes));
    }
    return sum;
  });
  synchronizeBlock();
}

Value ScatterThread::sortList(Value count) {
  Value other = index(plan.capacity);
  return loop(index(plan.numberBits), index(plan.numberBits + plan.rowBits), 1,
              {index(0), other},
              [&](Value bit, ValueRange lists) {
                Value shift = arith::IndexCastUIOp::create(builder, loc,
                                                           getEntryType(), bit);
                sortByBit(lists[0], lists[1], count, shift);
                return SmallVector<Value>{lists[1], lists[0]};
              })
      .front();
}
