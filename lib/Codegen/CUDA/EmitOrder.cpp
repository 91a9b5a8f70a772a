//===- EmitOrder.cpp - Kernels of form order on GPUs ----------------------===//
//
// A block has a row. The first few elements are selected one after the other:
// each thread finds the first of its elements that come after the last one
// selected, and the block the first of these, in shared memory. A row is sorted
// by a network of exchanges where its result is.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "DeviceThread.h"

#include "ppopt/Codegen/OrderRow.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// Shared memory of a thread: a key and an index.
static constexpr int64_t kBytesOfThread = 16;

namespace {

class OrderEmitter : DeviceThread {
public:
  OrderEmitter(OpBuilder &builder, KernelOp kernel, ValueRange buffers)
      : DeviceThread(builder, kernel.getLoc()),
        puller(builder, kernel, buffers),
        row(puller, cast<OrderOp>(kernel.getFormOp())),
        threads(kernel.getThreadsAttr().getCount()) {
    row.setRow(getBlock());
  }

  void emit() { row.isSorted() ? sort() : select(); }

private:
  /// An element in order.
  struct Place {
    Value key, id;
  };
  void select();
  Place findNext(const Place &last);
  Place findFirst(const Place &own);
  void sort();
  void exchangeRuns(Value bits, bool isMirrored);

  /// Emits `body` for every number below `end` that is the thread's.
  void forOwn(int64_t end, llvm::function_ref<void(Value)> body) {
    loop(thread, index(end), threads, {}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  /// Returns whether a comes before b: by the key, then by the index.
  Value isBefore(const Place &a, const Place &b) {
    Value isEqual = compare(arith::CmpIPredicate::eq, a.key, b.key);
    return select(isEqual, isBelow(a.id, b.id), isBelow(a.key, b.key));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value keyOf(const APInt &value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(row.keyType, value));
  }
  Value shiftLeft(Value a, Value b) {
    return arith::ShLIOp::create(builder, loc, a, b);
  }
  Value toI64(Value value) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(),
                                        value);
  }
  Value getIdMemory() {
    return getElement(shared, builder.getI64Type(), index(threads));
  }

  ElementPuller puller;
  OrderRow row;
  int64_t threads;
};

//===----------------------------------------------------------------------===//
// The first few
//===----------------------------------------------------------------------===//

/// Returns the first of the thread's elements from `next` on; the index after
/// the row's if there is none.
OrderEmitter::Place OrderEmitter::findNext(const Place &next) {
  Value none = keyOf(APInt::getAllOnes(row.keyType.getWidth()));
  SmallVector<Value> found =
      loop(thread, index(row.size), threads, {none, index(row.size)},
           [&](Value i, ValueRange values) {
             Place best{values[0], values[1]}, own{row.pullKey(i), i};
             Value isTaken = isBefore(own, next);
             Value isBetter =
                 both(isBefore(own, best),
                      compare(arith::CmpIPredicate::eq, isTaken,
                              arith::ConstantIntOp::create(
                                  builder, loc, builder.getI1Type(), 0)));
             return SmallVector<Value>{select(isBetter, own.key, best.key),
                                       select(isBetter, own.id, best.id)};
           });
  return {found[0], found[1]};
}

/// Returns the first of what the threads of the block have.
OrderEmitter::Place OrderEmitter::findFirst(const Place &own) {
  Type i64 = builder.getI64Type();
  Value ids = getIdMemory();
  auto loadPlace = [&](Value number) {
    Value id = load(ids, i64, number);
    return Place{
        load(shared, row.keyType, number),
        arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), id)};
  };
  auto storePlace = [&](const Place &place, Value number) {
    LLVM::StoreOp::create(builder, loc, place.key,
                          getElement(shared, row.keyType, number));
    LLVM::StoreOp::create(builder, loc, toI64(place.id),
                          getElement(ids, i64, number));
  };
  storePlace(own, thread);
  synchronizeBlock();
  for (int64_t half = threads / 2; half > 0; half /= 2) {
    emitIf(isBelow(thread, index(half)), [&] {
      Place mine = loadPlace(thread),
            other = loadPlace(add(thread, index(half)));
      Value isBetter = isBefore(other, mine);
      storePlace({select(isBetter, other.key, mine.key),
                  select(isBetter, other.id, mine.id)},
                 thread);
    });
    synchronizeBlock();
  }
  Place first = loadPlace(index(0));
  synchronizeBlock();
  return first;
}

void OrderEmitter::select() {
  Value none = keyOf(APInt::getZero(row.keyType.getWidth()));
  loop(index(0), index(row.count), 1, {none, index(0)},
       [&](Value place, ValueRange values) {
         Place first = findFirst(findNext({values[0], values[1]}));
         emitIf(compare(arith::CmpIPredicate::eq, thread, index(0)),
                [&] { row.storeId(toI64(first.id), place); });
         return SmallVector<Value>{first.key, add(first.id, index(1))};
       });
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

/// Exchanges elements of each two neighbouring runs of 1 << bits elements:
/// those with the same place in their run, or, mirrored, the first of one with
/// the last of the other. What would be after the row's end is last already.
void OrderEmitter::exchangeRuns(Value bits, bool isMirrored) {
  Value distance = shiftLeft(index(1), bits);
  int64_t pairs = llvm::PowerOf2Ceil(row.size) / 2;
  forOwn(pairs, [&](Value pair) {
    Value run = arith::ShRUIOp::create(builder, loc, pair, bits);
    Value place = sub(pair, shiftLeft(run, bits));
    Value middle = add(shiftLeft(run, add(bits, index(1))), distance);
    Value a = isMirrored ? sub(sub(middle, index(1)), place)
                         : add(sub(middle, distance), place);
    Value b = add(middle, place);
    emitIf(isBelow(b, index(row.size)), [&] { row.exchange(a, b); });
  });
  synchronizeBlock();
}

/// As on a CPU.
void OrderEmitter::sort() {
  forOwn(row.size, [&](Value i) { row.storeEntry(i); });
  synchronizeBlock();
  auto steps = [&](Value count, llvm::function_ref<void(Value)> body) {
    loop(index(0), count, 1, {}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  };
  steps(index(llvm::Log2_64_Ceil(row.size)), [&](Value stage) {
    exchangeRuns(stage, /*isMirrored=*/true);
    steps(stage, [&](Value step) {
      exchangeRuns(sub(sub(stage, index(1)), step), /*isMirrored=*/false);
    });
  });
  forOwn(row.size, [&](Value i) { row.finishEntry(i); });
}

class OrderForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override {
    int64_t rows = kernel.getFormAttr().getRows();
    int64_t threads = countThreads(kernel, kernel.getFormAttr().getColumns());
    setTiles(kernel, rows, /*size=*/1, TileUnit::Rows, threads,
             /*perRow=*/threads, /*each=*/1);
    kernel.setThreadsAttr(ThreadsAttr::get(kernel.getContext(), threads,
                                           threads, /*each=*/1,
                                           threads * kBytesOfThread));
    return success();
  }

  LogicalResult check(KernelOp kernel) const override {
    int64_t threads = kernel.getThreadsAttr().getCount();
    if (!llvm::isPowerOf2_64(threads) ||
        kernel.getThreadsAttr().getShared() < threads * kBytesOfThread)
      return kernel.emitOpError("has no power of two of threads, or less than ")
             << kBytesOfThread << " bytes of shared memory for each; run "
             << "--pp-plan-cuda-kernels first";
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    OrderEmitter(builder, kernel, buffers).emit();
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Order, OrderForm)
