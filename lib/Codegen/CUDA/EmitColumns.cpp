//===- EmitColumns.cpp - Reductions of rows, on a GPU ---------------------===//
//
// A block has few columns and all rows: of n threads of a column thread i takes
// the rows i, i + n, …, in this order, and loads several before it adds the
// first. Then neighbouring sums are combined, and their results.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "Shuffle.h"
#include "ThreadCode.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/ColumnReductions.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Rows whose elements a thread loads before it adds them.
static constexpr int64_t kRowsAtATime = 8;

namespace {

/// The tiles of columns of a kernel: runs of columns, for each of `others`.
struct ColumnTile {
  Value column, other;
  Value isInside; ///< whether the column is one; null if each is
};

} // namespace

static ColumnTile getColumn(ElementPuller &puller, ThreadCode &code) {
  int64_t columns = puller.kernel.getFormAttr().getColumns();
  int64_t width = puller.kernel.getTilesAttr().getSize();
  int64_t runs = llvm::divideCeil(columns, width);
  ColumnTile tile;
  Value run = code.tile;
  tile.other = puller.constant(0);
  if (runs == 1) {
    std::swap(run, tile.other);
  } else {
    Value count = puller.constant(runs);
    run = arith::RemUIOp::create(puller.builder, puller.getLoc(), code.tile,
                                 count);
    tile.other = arith::DivUIOp::create(puller.builder, puller.getLoc(),
                                        code.tile, count);
  }
  tile.column = puller.add(puller.mul(run, width), code.inRow);
  if (columns % width != 0)
    tile.isInside = code.isBelow(tile.column, columns);
  return tile;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {

class ColumnEmitter : ColumnReductions {
public:
  ColumnEmitter(ElementPuller &puller, ValueRange buffers, ThreadCode &code,
                ColumnTile tile)
      : ColumnReductions(puller.kernel), puller(puller), buffers(buffers),
        code(code), builder(puller.builder), loc(puller.getLoc()), tile(tile),
        index(getIndex(puller, tile.other)) {
    index.back() = tile.column;
  }

  void emit();

private:
  SmallVector<Value> emitRows(ValueRange initial);
  SmallVector<Value> emitRows(Value first, int64_t end, int64_t step,
                              int64_t times, ValueRange initial);
  SmallVector<Value> pullRow(Value row);
  void emitTail(ValueRange sums);

  ElementPuller &puller;
  ValueRange buffers;
  ThreadCode &code;
  OpBuilder &builder;
  Location loc;
  ColumnTile tile;
  /// Of the tile's column; the reduced ones are of a row.
  SmallVector<Value> index;
};

void ColumnEmitter::emit() {
  SmallVector<Value> initial;
  for (ReduceOp reduce : reductions)
    initial.push_back(getInitialValue(builder, reduce));
  SmallVector<Value> sums = initial;
  if (tile.isInside) {
    auto branch =
        scf::IfOp::create(builder, loc, ValueRange(initial).getTypes(),
                          tile.isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, initial);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, emitRows(initial));
    sums.assign(branch.getResults().begin(), branch.getResults().end());
  } else {
    sums = emitRows(initial);
  }
  code.combineOver(code.threads.getPerRow(), code.threads.getCount(),
                   reductions, sums);
  Value writes = code.isBelow(code.thread, code.threads.getPerRow());
  if (tile.isInside)
    writes = arith::AndIOp::create(builder, loc, writes, tile.isInside);
  code.emitIf(writes, [&] { emitTail(sums); });
}

/// Loops over the rows of the thread: several at a time, then the others.
SmallVector<Value> ColumnEmitter::emitRows(ValueRange initial) {
  int64_t step = code.threads.getCount() / code.threads.getPerRow();
  int64_t rows = llvm::product_of(sizesOf(reduced));
  Value first = code.rowInTile ? code.rowInTile : puller.constant(0);
  int64_t whole = rows / (step * kRowsAtATime) * (step * kRowsAtATime);
  SmallVector<Value> sums(initial);
  if (whole > 0)
    sums = emitRows(first, whole, step, kRowsAtATime, sums);
  if (whole < rows)
    sums = emitRows(puller.add(first, puller.constant(whole)), rows, step,
                    /*times=*/1, sums);
  return sums;
}

/// Loops over the rows of the thread from `first` to below `end`, `times` at a
/// time.
SmallVector<Value> ColumnEmitter::emitRows(Value first, int64_t end,
                                           int64_t step, int64_t times,
                                           ValueRange initial) {
  auto loop = scf::ForOp::create(builder, loc, first, puller.constant(end),
                                 puller.constant(step * times), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<SmallVector<Value>> elements;
  for (int64_t i = 0; i < times; ++i)
    elements.push_back(
        pullRow(puller.add(loop.getInductionVar(), puller.constant(i * step))));
  SmallVector<Value> sums(loop.getRegionIterArgs());
  for (ArrayRef<Value> ofRow : elements)
    for (auto [reduce, sum, element] : llvm::zip(reductions, sums, ofRow))
      sum = combine(builder, reduce, sum, element);
  scf::YieldOp::create(builder, loc, sums);
  return SmallVector<Value>(loop.getResults());
}

/// Returns what the reductions add of a row.
SmallVector<Value> ColumnEmitter::pullRow(Value row) {
  ElementPuller ofRow(builder, puller.kernel, buffers);
  SmallVector<Value> at = index;
  for (auto [i, value] :
       llvm::zip(reduced, ofRow.delinearize(row, sizesOf(reduced))))
    at[i] = value;
  ofRow.setPosition(getPosition(ofRow, at), nullptr);
  SmallVector<Value> elements;
  for (ReduceOp reduce : reductions)
    elements.push_back(ofRow.pull(reduce.getX()));
  return elements;
}

/// Emits the values computed from the reductions, and stores the results.
void ColumnEmitter::emitTail(ValueRange sums) {
  puller.setPosition(getKept(puller, tile.other, index), nullptr);
  for (auto [reduce, sum] : llvm::zip(reductions, sums))
    puller.setElement(reduce.getResult(), sum);
  puller.storeResults();
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

class ColumnsForm : public CudaForm {
public:
  /// A block has few columns, a sector of memory wide, so that many blocks
  /// share the rows; a thread has every n-th row of a column. Where there are
  /// enough columns for all threads of a GPU, each has all rows of one.
  LogicalResult plan(KernelOp kernel) const override {
    int64_t columns = kernel.getFormAttr().getColumns(), kept = 1;
    for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
      kept = getNumElements(reduce.getResult()) / columns;
    auto width = static_cast<int64_t>(llvm::PowerOf2Ceil(columns));
    constexpr int64_t kManyColumns = 1 << 16;
    if (kept * columns >= kManyColumns && columns >= kWarp) {
      int64_t threads = countThreads(kernel, columns);
      setTiles(kernel, kept * llvm::divideCeil(columns, threads), threads,
               TileUnit::Columns, threads, threads, /*each=*/1);
      return success();
    }
    int64_t perRow =
        std::min<int64_t>({static_cast<int64_t>(llvm::bit_floor(uint64_t(
                               getThreshold(kernel, Threshold::GpuColumns)))),
                           width, kWarp});
    constexpr int64_t kFewestRows = 4; // of a thread
    int64_t rows = kernel.getFormAttr().getRows() / kept;
    int64_t threads =
        countThreads(kernel, perRow * llvm::divideCeil(rows, kFewestRows), 2);
    setTiles(kernel, kept * llvm::divideCeil(columns, perRow), perRow,
             TileUnit::Columns, threads, perRow, /*each=*/1);
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    ElementPuller puller(builder, kernel, buffers);
    ThreadCode code(puller);
    ColumnEmitter(puller, buffers, code, getColumn(puller, code)).emit();
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Columns, ColumnsForm)
