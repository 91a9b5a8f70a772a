//===- EmitScatter.cpp - Rows are added to rows of a table, on a GPU ------===//
//
// A block has a run of columns of every n-th row of the table, so that rows
// that many ids name have different blocks. It
//
//   1. goes through all ids and lists those of its rows, in order, in shared
//      memory: the row, and the number of what is added to it;
//   2. sorts the list by rows, one bit at a time, which keeps the order of what
//      is added to a row;
//   3. cuts it into as many parts as it has teams of threads that share a row.
//      A team sums up what its part has of each row, and adds it to the table.
//      Sums of the first row of a part go to the team that has the row's first
//      entries, which adds them in order.
//
// If the list fills up before the last ids, 2 and 3 are done in between. The
// order of additions follows from the ids and from what is planned.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "LineThreads.h"
#include "ScatterThread.h"
#include "Shuffle.h"
#include "VectorAccess.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Codegen/TableRows.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// Bytes of what is added that a thread loads at a time, and rows; likewise of
/// the table.
static constexpr int64_t kAddedBytes = 128, kMostAdded = 8;

namespace {

/// What a thread has of a part of the list, in each of its columns.
struct PartSums {
  SmallVector<Value> open; ///< the sum of the row that has not ended
  SmallVector<Value> head; ///< that of the first row, if earlier parts have it
  SmallVector<Value> stored; ///< the last row's elements of the table
  Value isHead;              ///< whether `open` is the sum of such a first row

  SmallVector<Value> getValues() const {
    SmallVector<Value> values(open);
    llvm::append_range(values, head);
    llvm::append_range(values, stored);
    values.push_back(isHead);
    return values;
  }
  static PartSums of(ValueRange values) {
    size_t each = values.size() / 3;
    auto slice = [&](size_t i) {
      return SmallVector<Value>(values.slice(i * each, each));
    };
    return {slice(0), slice(1), slice(2), values.back()};
  }
};

class ScatterEmitter : ScatterThread {
public:
  ScatterEmitter(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  void emit();

private:
  void emitZeros();
  void addList(Value list, Value count);
  PartSums addPart(Value list, Value last, Value begin, Value end,
                   const PartSums &initial);
  void addHeads(Value list, Value count, Value perTeam, Value end,
                const PartSums &sums);
  SmallVector<Value> loadAdded(Value number);
  SmallVector<Value> loadTable(Value row);
  void storeTable(Value row, ValueRange stored, ValueRange sums);

  Value zero() {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(sumType));
  }
  Value sumF(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  /// Returns the number in the table of one of the thread's columns.
  Value locate(Value rowOfGroup, int64_t column) {
    Value row = add(mul(rowOfGroup, plan.groups), group);
    return add(add(mul(row, plan.columns), firstColumn), index(column));
  }
  /// Returns the address of the sum of a team's first row.
  Value locateHead(Value ofTeam, int64_t column) {
    Value first = mul(add(mul(ofTeam, plan.threads.getPerRow()), inTeam), each);
    return getElement(headMemory, sumType, add(first, index(column)));
  }

  int64_t each;
  Type sumType;
  Value firstColumn; ///< of the thread
  Value isInside;    ///< whether it has columns; null if each thread has
  Value team, inTeam;
  Value headMemory;
};

ScatterEmitter::ScatterEmitter(OpBuilder &builder, KernelOp kernel,
                               ValueRange buffers)
    : ScatterThread(builder, kernel, buffers), each(plan.threads.getEach()),
      sumType(getStatisticsType(plan.element)) {
  int64_t perRow = plan.threads.getPerRow();
  team = div(thread, perRow);
  inTeam = rem(thread, perRow);
  Value run = rem(getBlock(), llvm::divideCeil(plan.columns, plan.width));
  firstColumn = add(mul(run, plan.width), mul(inTeam, each));
  if (plan.columns % plan.width != 0)
    isInside = isBelow(firstColumn, index(plan.columns));
  headMemory = getElement(shared, builder.getI8Type(),
                          index(plan.getListBytes(plan.capacity)));
}

void ScatterEmitter::emit() {
  // An accumulation in place starts with the accumulator's value. Barriers of
  // the list come before the first sum.
  if (!addsToTable(op))
    emitIf(isInside, [&] { emitZeros(); });
  int64_t ids = plan.threads.getCount() * plan.idsOfThread;
  int64_t most = std::max<int64_t>(plan.capacity - ids, 0);
  int64_t times = llvm::divideCeil(plan.rows, ids);
  loop(index(0), index(times), 1, {index(0)}, [&](Value i, ValueRange values) {
    Value count = listIds(mul(i, ids), values[0]);
    Value isFull =
        arith::OrIOp::create(builder, loc, isBelow(index(most), count),
                             isEqual(i, index(times - 1)));
    Value hasEntries = isBelow(index(0), count);
    Value isAdded = both(isFull, hasEntries);
    emitIf(isAdded, [&] { addList(sortList(count), count); });
    return SmallVector<Value>{select(isAdded, index(0), count)};
  });
}

void ScatterEmitter::emitZeros() {
  // Of the group's rows.
  Value end =
      div(sub(index(plan.tableRows + plan.groups - 1), group), plan.groups);
  loop(team, end, plan.teams, {}, [&](Value row, ValueRange) {
    ElementPuller puller(builder, kernel, buffers);
    for (int64_t i = 0; i < each; ++i)
      clearTableElement(puller, op, locate(row, i));
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds the rows that the sorted list names. Before anything of it is written
/// again, the next list has a barrier.
void ScatterEmitter::addList(Value list, Value count) {
  Value perTeam = div(add(count, index(plan.teams - 1)), plan.teams);
  Value begin = min(mul(team, perTeam), count);
  Value end = min(add(begin, perTeam), count);
  Value last = sub(count, index(1));
  // Whether an earlier part has entries of the part's first row.
  Value before =
      sub(arith::MaxUIOp::create(builder, loc, begin, index(1)), index(1));
  Value isHead = both(both(isBelow(index(0), begin), isBelow(begin, count)),
                      isEqual(getRow(loadEntry(add(list, before))),
                              getRow(loadEntry(add(list, min(begin, last))))));
  SmallVector<Value> zeros(each, zero());
  PartSums initial{zeros, zeros, zeros, isHead};
  PartSums sums = PartSums::of(emitIfElse(
      isInside,
      [&] { return addPart(list, last, begin, end, initial).getValues(); },
      [&] { return initial.getValues(); }));
  emitIf(isHead, [&] {
    for (auto [i, open, head] : llvm::enumerate(sums.open, sums.head))
      LLVM::StoreOp::create(builder, loc, select(sums.isHead, open, head),
                            locateHead(team, i));
  });
  synchronizeBlock();
  Value isOpen = both(both(isBelow(begin, end), isNot(sums.isHead)), isInside);
  emitIf(isOpen, [&] { addHeads(list, count, perTeam, end, sums); });
}

/// Adds what is summed up of a part to the table, but for the first row if
/// earlier parts have it, too, and for the last if later ones have it.
PartSums ScatterEmitter::addPart(Value list, Value last, Value begin, Value end,
                                 const PartSums &initial) {
  int64_t times = std::clamp<int64_t>(
      kAddedBytes / (each * getElementBytes(sumType)), 1, kMostAdded);
  return PartSums::of(
      loop(begin, end, times, initial.getValues(),
           [&](Value first, ValueRange values) {
             PartSums sums = PartSums::of(values);
             SmallVector<Value> numbers, entries;
             for (int64_t i = 0; i <= times; ++i) {
               numbers.push_back(add(first, index(i)));
               entries.push_back(loadEntry(add(list, min(numbers[i], last))));
             }
             // All loads come before the first addition, also those of the
             // table that no row ends with: the same elements are needed soon.
             SmallVector<SmallVector<Value>> added(times), stored(times);
             SmallVector<Value> arePresent, areLast, rows;
             for (int64_t i = 0; i < times; ++i) {
               Value isPresent = isBelow(numbers[i], end);
               arePresent.push_back(isPresent);
               Value row = getRow(entries[i]), next = getRow(entries[i + 1]);
               Value ends =
                   arith::OrIOp::create(builder, loc, isEqual(numbers[i], last),
                                        isNot(isEqual(row, next)));
               areLast.push_back(both(isPresent, ends));
               rows.push_back(toIndex(row));
               Value entry = select(isPresent, entries[i], entries[0]);
               added[i] = loadAdded(getNumber(entry));
               stored[i] = loadTable(toIndex(getRow(entry)));
             }
             for (int64_t i = 0; i < times; ++i) {
               for (int64_t c = 0; c < each; ++c)
                 sums.open[c] =
                     select(arePresent[i], sumF(sums.open[c], added[i][c]),
                            sums.open[c]);
               emitIf(both(areLast[i], isNot(sums.isHead)),
                      [&] { storeTable(rows[i], stored[i], sums.open); });
               Value isHead = both(areLast[i], sums.isHead);
               for (int64_t c = 0; c < each; ++c) {
                 sums.head[c] = select(isHead, sums.open[c], sums.head[c]);
                 sums.open[c] = select(areLast[i], zero(), sums.open[c]);
                 sums.stored[c] =
                     select(arePresent[i], stored[i][c], sums.stored[c]);
               }
               sums.isHead = both(sums.isHead, isNot(areLast[i]));
             }
             return sums.getValues();
           }));
}

/// Adds the sums of following parts that begin with the last row of the one
/// that ends at `end`, if there are any, and then the sum of all to the table.
void ScatterEmitter::addHeads(Value list, Value count, Value perTeam, Value end,
                              const PartSums &sums) {
  Value row = getRow(loadEntry(add(list, sub(end, index(1)))));
  auto hasMore = [&](Value ofTeam) {
    Value first = mul(ofTeam, perTeam);
    Value entry = loadEntry(add(list, min(first, sub(count, index(1)))));
    return both(isBelow(first, count), isEqual(getRow(entry), row));
  };
  Value next = add(team, index(1));
  emitIf(hasMore(next), [&] {
    SmallVector<Value> initial{next};
    llvm::append_range(initial, sums.open);
    auto heads = scf::WhileOp::create(
        builder, loc, ValueRange(initial).getTypes(), initial,
        [&](OpBuilder &, Location, ValueRange values) {
          scf::ConditionOp::create(builder, loc, hasMore(values[0]), values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          SmallVector<Value> next{add(values[0], index(1))};
          for (auto [i, sum] : llvm::enumerate(values.drop_front()))
            next.push_back(
                sumF(sum, LLVM::LoadOp::create(builder, loc, sumType,
                                               locateHead(values[0], i))));
          scf::YieldOp::create(builder, loc, next);
        });
    storeTable(toIndex(row), sums.stored, heads.getResults().drop_front());
  });
}

/// Returns the thread's columns of a row that is added.
SmallVector<Value> ScatterEmitter::loadAdded(Value number) {
  ElementPuller puller(builder, kernel, buffers);
  Position position = startRow(puller, number);
  Value start =
      position.rowStart ? add(position.rowStart, firstColumn) : firstColumn;
  SmallVector<Value> elements;
  for (int64_t i = 0; i < each; ++i) {
    position.index.back() = add(firstColumn, index(i));
    position.element = add(start, index(i));
    puller.movePosition(position, nullptr);
    elements.push_back(puller.pull(op.getDy()));
  }
  return elements;
}

/// Returns those of a row of the group's.
SmallVector<Value> ScatterEmitter::loadTable(Value row) {
  ElementPuller table(builder, kernel, buffers);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < each; ++i)
    elements.push_back(
        table.load(table.getResultBuffer(0), plan.element, locate(row, i)));
  return elements;
}

void ScatterEmitter::storeTable(Value row, ValueRange stored, ValueRange sums) {
  ElementPuller table(builder, kernel, buffers);
  for (int64_t i = 0; i < each; ++i)
    table.store(sumF(stored[i], sums[i]), table.getResultBuffer(0),
                plan.element, locate(row, i));
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

class ScatterForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override {
    if (isa<ScatterAddOp>(*kernel.getFormOp())) {
      planLines(kernel);
      return success();
    }
    FormAttr form = kernel.getFormAttr();
    int64_t columns = form.getColumns(), rows = form.getRows();
    Value table = kernel.getFormOp()->getResult(0);
    int64_t tableRows = getShape(table).front();
    int64_t element = getElementBytes(getElementTypeOrSelf(table));
    int64_t each = countEach(kernel, columns);
    while (each > 1 && each * element > kVectorBytes)
      each /= 2;
    int64_t work = llvm::divideCeil(columns, each);
    int64_t threads = countThreads(kernel, rows * work);
    auto perRow =
        static_cast<int64_t>(llvm::bit_floor(uint64_t(std::max<int64_t>(
            getThreshold(kernel, Threshold::GpuTableColumns) / each, 1))));
    perRow = std::min<int64_t>(
        {perRow, threads, static_cast<int64_t>(llvm::PowerOf2Ceil(work))});
    int64_t blocks = getThreshold(kernel, Threshold::GpuTableBlocks);
    auto countRuns = [&]() -> int64_t {
      return llvm::divideCeil(columns, perRow * each);
    };
    // A small table has narrower runs of columns, down to a sector of memory.
    constexpr int64_t kSectorBytes = 32;
    while (perRow > 1 && perRow * each * element > kSectorBytes &&
           2 * countRuns() * tableRows <= blocks)
      perRow /= 2;
    int64_t runs = countRuns();
    int64_t block = llvm::divideCeil(
        tableRows, std::clamp<int64_t>(blocks / runs, 1, tableRows));
    setTiles(kernel, runs * llvm::divideCeil(tableRows, block), perRow * each,
             TileUnit::Columns, threads, perRow, each, block);
    planList(kernel);
    return success();
  }

  LogicalResult check(KernelOp kernel) const override {
    if (isa<ScatterAddOp>(*kernel.getFormOp()))
      return success();
    ScatterPlan plan(kernel);
    if (plan.capacity < plan.getLeastCapacity())
      return kernel.emitOpError("has ")
             << plan.threads.getShared()
             << " bytes of shared memory, and the ids of a scatter need "
             << plan.getSharedBytes(plan.getLeastCapacity())
             << "; run --pp-plan-cuda-kernels first";
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    if (auto op = dyn_cast<ScatterAddOp>(*kernel.getFormOp()))
      return emitScatterLine(builder, kernel, buffers, op);
    ScatterEmitter(builder, kernel, buffers).emit();
  }

private:
  /// Sets the shared memory.
  static void planList(KernelOp kernel) {
    ScatterPlan plan(kernel);
    int64_t least = plan.getLeastCapacity();
    int64_t most = getThreshold(kernel, Threshold::GpuSharedBytes);
    int64_t entries = std::clamp(getThreshold(kernel, Threshold::GpuTableList),
                                 least, plan.rows);
    while (entries > least && plan.getSharedBytes(entries) > most)
      entries = std::max(entries / 2, least);
    ThreadsAttr threads = plan.threads;
    kernel.setThreadsAttr(ThreadsAttr::get(
        kernel.getContext(), threads.getCount(), threads.getPerRow(),
        threads.getEach(), plan.getSharedBytes(entries)));
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Scatter, ScatterForm)
