//===- EmitRows.cpp - Kernels over rows, by the threads of a GPU ----------===//
//
// The threads of a row go through its columns together, each taking some
// neighbours at a time. What they take is contiguous, so that LLVM makes
// vector loads and stores of it. The last of a row's columns may be fewer, for
// which there is code of their own: padding is neither read nor written. Tiles
// of elements make the space one flat range; tiles of columns are parts of
// rows.
//
// The order of a reduction follows from its lanes: lane l takes the elements
// l, l + lanes, …; then neighbouring lanes are combined, and their results.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "Shuffle.h"
#include "ThreadCode.h"
#include "VectorAccess.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class RowEmitter {
public:
  RowEmitter(ElementPuller &puller, ThreadCode &code)
      : puller(puller), code(code), builder(puller.builder),
        loc(puller.getLoc()), kernel(puller.kernel),
        returned(kernel.getBody().front().getTerminator()->getOperands()),
        tiles(kernel.getTilesAttr()), each(code.threads.getEach()),
        rows(kernel.getFormAttr().getRows()),
        columns(kernel.getFormAttr().getColumns()), sweeps(kernel) {}

  void emit();

private:
  void emitFlat();
  void emitParts();
  void emitRows();
  void emitRow(Value row);
  void emitLoop(RowLoop &loop, Position position);
  SmallVector<Value> emitElements(RowLoop &loop, Position position, Value first,
                                  int64_t count, Operation *rowLevel,
                                  ValueRange sums);
  SmallVector<Value> emitLast(RowLoop &loop, Position position, Value first,
                              int64_t least, int64_t end, Operation *rowLevel,
                              ValueRange sums);

  ElementPuller &puller;
  ThreadCode &code;
  OpBuilder &builder;
  Location loc;
  KernelOp kernel;
  ValueRange returned;
  TilesAttr tiles;
  int64_t each, rows, columns;
  RowLoops sweeps;
};

/// Emits `count` columns of the thread's from `first` on. `sums`: of each
/// reduction, one per column. Returns the next ones.
SmallVector<Value> RowEmitter::emitElements(RowLoop &loop, Position position,
                                            Value first, int64_t count,
                                            Operation *rowLevel,
                                            ValueRange sums) {
  SmallVector<Value> next(sums);
  SmallVector<PendingStore> stores;
  for (int64_t i = 0; i < count; ++i) {
    position.index.back() = puller.add(first, puller.constant(i));
    puller.movePosition(position, rowLevel);
    for (auto [n, reduce] : llvm::enumerate(loop.reductions)) {
      Value &sum = next[n * each + i];
      sum = combine(builder, reduce, sum, puller.pull(reduce.getX()));
    }
    stores.append(puller.pullResults(loop.results));
  }
  puller.store(stores);
  return next;
}

/// As emitElements, for those of the thread's columns that are below `end`.
/// `first` is `least` or more, for some thread `least`.
SmallVector<Value> RowEmitter::emitLast(RowLoop &loop, Position position,
                                        Value first, int64_t least, int64_t end,
                                        Operation *rowLevel, ValueRange sums) {
  int64_t whole = end / each * each;
  SmallVector<Value> next(sums);
  auto emitWhere = [&](Value condition, int64_t count) {
    if (next.empty())
      return code.emitIf(condition, [&] {
        emitElements(loop, position, first, count, rowLevel, {});
      });
    SmallVector<Type> types(ValueRange(next).getTypes());
    auto branch = scf::IfOp::create(builder, loc, types, condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    for (Block *block : {branch.thenBlock(), branch.elseBlock()})
      block->clear();
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(
        builder, loc,
        emitElements(loop, position, first, count, rowLevel, next));
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, next);
    next.assign(branch.getResults().begin(), branch.getResults().end());
  };
  if (least < whole)
    emitWhere(code.isBelow(first, whole), each);
  if (whole < end)
    emitWhere(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    first, puller.constant(whole)),
              end - whole);
  return next;
}

void RowEmitter::emitLoop(RowLoop &sweep, Position position) {
  int64_t step = code.threads.getPerRow() * each;
  int64_t whole = columns / step * step;
  SmallVector<Value> initial;
  for (ReduceOp reduce : sweep.reductions)
    initial.append(each, getInitialValue(builder, reduce));
  Value mine = puller.mul(code.inRow, each);
  auto loop = scf::ForOp::create(builder, loc, puller.constant(0),
                                 puller.constant(whole), puller.constant(step),
                                 initial);
  {
    OpBuilder::InsertionGuard guard(builder);
    if (initial.empty())
      loop.getBody()->clear();
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc,
                         emitElements(sweep, position,
                                      puller.add(loop.getInductionVar(), mine),
                                      each, loop, loop.getRegionIterArgs()));
  }
  SmallVector<Value> sums(loop.getResults());
  if (whole < columns)
    sums = emitLast(sweep, position, puller.add(puller.constant(whole), mine),
                    whole, columns, loop, sums);
  for (unsigned result : sweep.results)
    puller.setStored(returned[result], result);
  if (sweep.reductions.empty())
    return;

  SmallVector<Value> totals;
  for (auto [n, reduce] : llvm::enumerate(sweep.reductions))
    totals.push_back(
        combineTree(builder, reduce, ArrayRef(sums).slice(n * each, each)));
  code.combineOver(1, code.threads.getPerRow(), sweep.reductions, totals);
  for (auto [reduce, total] : llvm::zip(sweep.reductions, totals))
    puller.setElement(reduce.getResult(), total);
}

void RowEmitter::emitRow(Value row) {
  Position position = startRow(puller, row);
  for (RowLoop &loop : sweeps.loops)
    emitLoop(loop, position);
  if (sweeps.rowResults.empty())
    return;
  position.index.back() = puller.constant(0);
  puller.setPosition(position, nullptr);
  SmallVector<PendingStore> stores = puller.pullResults(sweeps.rowResults);
  code.emitIf(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    code.inRow, puller.constant(0)),
              [&] { puller.store(stores); });
}

void RowEmitter::emitRows() {
  Value row = code.tile;
  if (code.rowInTile)
    row = puller.add(puller.mul(code.tile, tiles.getSize()), code.rowInTile);
  if (rows % tiles.getSize() == 0)
    return emitRow(row);
  code.leaveOtherRows();
  code.emitIf(code.isBelow(row, rows), [&] { emitRow(row); });
}

void RowEmitter::emitFlat() {
  int64_t count = rows * columns;
  Value first = puller.mul(
      puller.add(puller.mul(code.tile, code.threads.getCount()), code.thread),
      each);
  Position position;
  position.space = {1, count};
  position.sizes = {count};
  position.index = {Value()};
  position.row = puller.constant(0);
  if (count % tiles.getSize() == 0)
    emitElements(sweeps.loops.front(), position, first, each, nullptr, {});
  else
    emitLast(sweeps.loops.front(), position, first, 0, count, nullptr, {});
}

/// Long rows without reductions: a tile is a part of a row.
void RowEmitter::emitParts() {
  int64_t parts = llvm::divideCeil(columns, tiles.getSize());
  Value count = puller.constant(parts);
  Position position =
      startRow(puller, arith::DivUIOp::create(builder, loc, code.tile, count));
  Value part = arith::RemUIOp::create(builder, loc, code.tile, count);
  Value first = puller.mul(
      puller.add(puller.mul(part, code.threads.getCount()), code.thread), each);
  if (columns % tiles.getSize() == 0)
    emitElements(sweeps.loops.front(), position, first, each, nullptr, {});
  else
    emitLast(sweeps.loops.front(), position, first, 0, columns, nullptr, {});
}

void RowEmitter::emit() {
  if (tiles.getUnit() == TileUnit::Elements)
    return emitFlat();
  if (tiles.getUnit() == TileUnit::Columns)
    return emitParts();
  emitRows();
}

class RowsForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override {
    Block &body = kernel.getBody().front();
    FormAttr form = kernel.getFormAttr();
    int64_t columns = form.getColumns(), rows = form.getRows();
    bool isOneSweep =
        body.getOps<ReduceOp>().empty() &&
        llvm::all_of(body.getTerminator()->getOperands(),
                     [&](Value value) { return kernel.isFull(value); });
    if (isOneSweep && !kernel.hasPitch() && isFlatRange(kernel))
      return planFlat(kernel);
    int64_t each = countEachOfRow(kernel);
    bool isShort = columns <= getThreshold(kernel, Threshold::GpuWarpColumns);
    int64_t work = llvm::divideCeil(columns, each);
    if (isOneSweep && !isShort) {
      // Parts of long rows need not wait for each other.
      int64_t threads = countThreads(kernel, work);
      setTiles(kernel, rows * llvm::divideCeil(columns, threads * each),
               threads * each, TileUnit::Columns, threads, threads, each);
      return success();
    }
    int64_t perRow = isShort
                         ? std::min<int64_t>(llvm::PowerOf2Ceil(work), kWarp)
                         : countThreads(kernel, work);
    int64_t threads = isShort ? countThreads(kernel, rows * perRow) : perRow;
    for (auto reduce : body.getOps<ReduceOp>())
      kernel.setLanes(reduce, perRow * each);
    setTiles(kernel, llvm::divideCeil(rows, threads / perRow), threads / perRow,
             TileUnit::Rows, threads, perRow, each);
    return success();
  }

  LogicalResult check(KernelOp kernel) const override {
    ThreadsAttr threads = kernel.getThreadsAttr();
    for (auto reduce : kernel.getBody().getOps<ReduceOp>())
      if (kernel.getLanes(reduce) != threads.getPerRow() * threads.getEach())
        return kernel.emitOpError("has a reduction whose lanes are not those "
                                  "of the threads of a row; run "
                                  "--pp-plan-cuda-kernels first");
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    ElementPuller puller(builder, kernel, buffers);
    ThreadCode code(puller);
    RowEmitter(puller, code).emit();
  }

private:
  /// Of long rows, most are padded, and the last of their elements are fewer.
  /// The order of a sum must not depend on whether they are, so it is the same
  /// for all.
  static int64_t countEachOfRow(KernelOp kernel) {
    int64_t columns = kernel.getFormAttr().getColumns();
    bool isLong = columns >= getThreshold(kernel, Threshold::GpuPitchColumns);
    bool hasReductions = !kernel.getBody().front().getOps<ReduceOp>().empty();
    if ((isLong && hasReductions) || hasAlignedRows(kernel))
      return getMostEach(kernel);
    return countEach(kernel, columns);
  }

  /// Returns whether a kernel has padded rows, and none that begin between
  /// vectors.
  static bool hasAlignedRows(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    SmallVector<Value> values(body.getArguments());
    llvm::append_range(values, body.getTerminator()->getOperands());
    for (auto [i, value] : llvm::enumerate(values)) {
      int64_t element = getElementBytes(getElementTypeOrSelf(value));
      int64_t row = kernel.getFormAttr().getColumns() * element;
      if (kernel.isFull(value) && !kernel.getPitch(i) &&
          row % kVectorBytes != 0)
        return false;
    }
    return kernel.hasPitch();
  }

  static LogicalResult planFlat(KernelOp kernel) {
    int64_t elements = kernel.getFormAttr().getNumElements();
    int64_t each = countEach(kernel, elements);
    int64_t threads = countThreads(kernel, elements / each);
    setTiles(kernel, llvm::divideCeil(elements, threads * each), threads * each,
             TileUnit::Elements, threads, threads, each);
    return success();
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Rows, RowsForm)
