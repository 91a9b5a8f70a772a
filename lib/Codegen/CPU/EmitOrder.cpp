//===- EmitOrder.cpp - Kernels of form order ------------------------------===//
//
// A tile is a row. A few of its first elements are selected: a list of the
// first so far, in order, takes the elements one after the other. A row is
// sorted by a network of exchanges, in place: it has the same order of steps
// for all data, and rows of any length, which the steps that would leave the
// row are not needed for.
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"

#include "ppopt/Codegen/OrderRow.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// Elements of which the smallest key is found first: if it is not before the
/// list's last one, none of them is.
static constexpr int64_t kAtATime = 32;

namespace {

class OrderEmitter {
public:
  OrderEmitter(ElementPuller &puller, OrderOp op)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()),
        row(puller, op) {
    if (!row.isSorted())
      keys = LLVM::AllocaOp::create(
          builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
          row.keyType,
          LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                   row.count + 1),
          /*alignment=*/64);
  }

  void emit(Value begin, Value end) {
    emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value i) {
      row.setRow(i);
      row.isSorted() ? sort() : select();
    });
  }

private:
  void select();
  void insert(Value key, Value i, Value end);
  void scan(Value begin, Value end);
  void sort();
  void exchangeRuns(Value distance, bool isMirrored);

  Value index(int64_t value) { return puller.constant(value); }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value min(Value a, Value b) {
    return arith::MinUIOp::create(builder, loc, a, b);
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  }
  void emitIf(Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, loc, condition);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    body();
  }
  /// Key number i of the list is in place i + 1, after a 0.
  Value loadKey(Value place) {
    return LLVM::LoadOp::create(builder, loc, row.keyType,
                                puller.address(keys, row.keyType, place));
  }
  void storeKey(Value key, Value place) {
    LLVM::StoreOp::create(builder, loc, key,
                          puller.address(keys, row.keyType, place));
  }
  Value keyOf(const APInt &value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(row.keyType, value));
  }

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  OrderRow row;
  Value keys;
};

//===----------------------------------------------------------------------===//
// The first few
//===----------------------------------------------------------------------===//

/// Inserts an element into the list of `end` elements.
void OrderEmitter::insert(Value key, Value i, Value end) {
  auto shift = scf::WhileOp::create(
      builder, loc, TypeRange(builder.getIndexType()), ValueRange(end),
      [&](OpBuilder &, Location, ValueRange place) {
        scf::ConditionOp::create(builder, loc, isBelow(key, loadKey(place[0])),
                                 place);
      },
      [&](OpBuilder &, Location, ValueRange place) {
        Value before = sub(place[0], index(1));
        storeKey(loadKey(place[0]), puller.add(place[0], index(1)));
        row.storeId(row.loadId(before), place[0]);
        scf::YieldOp::create(builder, loc, before);
      });
  Value place = shift.getResult(0);
  storeKey(key, puller.add(place, index(1)));
  row.storeId(
      arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), i),
      place);
}

void OrderEmitter::scan(Value begin, Value end) {
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value i) {
    Value key = row.pullKey(i);
    emitIf(isBelow(key, loadKey(index(row.count))),
           [&] { insert(key, i, index(row.count - 1)); });
  });
}

void OrderEmitter::select() {
  if (row.count == 0)
    return;
  storeKey(keyOf(APInt::getZero(row.keyType.getWidth())), index(0));
  emitLoop(builder, loc, index(0), index(row.count),
           [&](scf::ForOp, Value i) { insert(row.pullKey(i), i, i); });
  int64_t blocks = (row.size - row.count) / kAtATime;
  emitLoop(builder, loc, index(0), index(blocks), [&](scf::ForOp, Value block) {
    Value begin = puller.add(puller.mul(block, kAtATime), index(row.count));
    auto loop = scf::ForOp::create(
        builder, loc, index(0), index(kAtATime), index(1),
        ValueRange(keyOf(APInt::getAllOnes(row.keyType.getWidth()))));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value key = row.pullKey(puller.add(begin, loop.getInductionVar()));
      scf::YieldOp::create(builder, loc, min(loop.getRegionIterArg(0), key));
    }
    emitIf(isBelow(loop.getResult(0), loadKey(index(row.count))),
           [&] { scan(begin, puller.add(begin, index(kAtATime))); });
  });
  scan(index(row.count + blocks * kAtATime), index(row.size));
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

/// Exchanges the elements of each two neighbouring runs of `distance` elements:
/// those with the same place in their run, or, mirrored, the first of one with
/// the last of the other. What would be after the row's end is last already.
void OrderEmitter::exchangeRuns(Value distance, bool isMirrored) {
  Value size = index(row.size);
  Value both = arith::MulIOp::create(builder, loc, distance, index(2));
  auto runs = scf::ForOp::create(builder, loc, index(0), size, both);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(runs.getBody());
  Value first = runs.getInductionVar();
  Value middle = min(puller.add(first, distance), size);
  Value count = min(sub(size, middle), distance);
  emitLoop(builder, loc, index(0), count, [&](scf::ForOp, Value i) {
    if (!isMirrored)
      return row.exchange(puller.add(first, i), puller.add(middle, i));
    row.exchange(sub(sub(middle, index(1)), i), puller.add(middle, i));
  });
}

/// Sorted runs are merged two by two: mirrored, one after the other is a row
/// that falls and then rises, which exchanges over halving distances sort.
void OrderEmitter::sort() {
  emitLoop(builder, loc, index(0), index(row.size),
           [&](scf::ForOp, Value i) { row.storeEntry(i); });
  Value one = index(1);
  emitLoop(builder, loc, index(0), index(llvm::Log2_64_Ceil(row.size)),
           [&](scf::ForOp, Value stage) {
             Value distance = arith::ShLIOp::create(builder, loc, one, stage);
             exchangeRuns(distance, /*isMirrored=*/true);
             emitLoop(
                 builder, loc, index(0), stage, [&](scf::ForOp, Value step) {
                   exchangeRuns(arith::ShRUIOp::create(builder, loc, distance,
                                                       puller.add(step, one)),
                                /*isMirrored=*/false);
                 });
           });
  emitLoop(builder, loc, index(0), index(row.size),
           [&](scf::ForOp, Value i) { row.finishEntry(i); });
}

class OrderForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    return TilesAttr::get(kernel.getContext(), kernel.getFormAttr().getRows(),
                          /*size=*/1, TileUnit::Rows, /*block=*/0);
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {
    ElementPuller puller(builder, kernel, buffers);
    OrderEmitter(puller, cast<OrderOp>(kernel.getFormOp())).emit(begin, end);
  }
};

} // namespace

PP_KERNEL_FORM(CpuForm, Order, OrderForm)
