//===- EmitColumns.cpp - Kernels that reduce rows, and scatters -----------===//
//
// A tile is a run of columns. Rows are processed in order, so the order of a
// sum does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"
#include "LineTiles.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/ColumnReductions.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Codegen/TableRows.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A run of columns of a tile.
struct ColumnRange {
  Value first; ///< column
  Value width; ///< a constant if all tiles are equal
};

/// The part that emitters of column tiles share.
class ColumnTiles {
public:
  explicit ColumnTiles(ElementPuller &puller)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()),
        columns(puller.kernel.getFormAttr().getColumns()),
        tileColumns(puller.kernel.getTilesAttr().getSize()) {}

  ColumnRange get(Value tile) {
    Value first = puller.mul(tile, tileColumns);
    Value width = puller.constant(tileColumns);
    if (columns % tileColumns != 0)
      width = arith::MinUIOp::create(
          builder, loc, width,
          arith::SubIOp::create(builder, loc, puller.constant(columns), first));
    return {first, width};
  }

protected:
  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  int64_t columns, tileColumns;
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

class ColumnEmitter : ColumnTiles, ColumnReductions {
public:
  explicit ColumnEmitter(ElementPuller &puller)
      : ColumnTiles(puller), ColumnReductions(puller.kernel) {}

  void emit(Value begin, Value end);

private:
  void emitTile(Value outer, ColumnRange range);
  void emitRows(SmallVector<Value> index, unsigned depth, ColumnRange range);
  void emitTail(Value outer, ArrayRef<Value> index, ColumnRange range);
  Value getAccumulator(unsigned i, Value column) {
    return LLVM::GEPOp::create(
        builder, loc, accumulators[i].getType(), types[i], accumulators[i],
        ArrayRef<LLVM::GEPArg>{arith::IndexCastOp::create(
                                   builder, loc, builder.getI64Type(), column)
                                   .getResult()});
  }

  SmallVector<Value> accumulators;
  SmallVector<Type> types;
};

/// Loops over the rows, one reduced dimension after the other.
void ColumnEmitter::emitRows(SmallVector<Value> index, unsigned depth,
                             ColumnRange range) {
  Value zero = puller.constant(0);
  if (depth < reduced.size()) {
    emitLoop(builder, loc, zero, puller.constant(sizes[reduced[depth]]),
             [&](scf::ForOp, Value i) {
               index[reduced[depth]] = i;
               emitRows(index, depth + 1, range);
             });
    return;
  }
  Position position = getPosition(puller, index);
  emitLoop(builder, loc, zero, range.width, [&](scf::ForOp loop, Value i) {
    position.index.back() = puller.add(range.first, i);
    puller.setPosition(position, loop);
    for (auto [n, reduce] : llvm::enumerate(reductions)) {
      Value x = puller.pull(reduce.getX());
      Value at = getAccumulator(n, i);
      Value sum = LLVM::LoadOp::create(builder, loc, types[n], at);
      LLVM::StoreOp::create(builder, loc, combine(builder, reduce, sum, x), at);
    }
  });
}

/// Emits the values computed from the reductions, and stores the results.
void ColumnEmitter::emitTail(Value outer, ArrayRef<Value> index,
                             ColumnRange range) {
  Position position = getKept(puller, outer, index);
  emitLoop(builder, loc, puller.constant(0), range.width,
           [&](scf::ForOp loop, Value i) {
             position.index.back() = puller.add(range.first, i);
             puller.setPosition(position, loop);
             for (auto [n, reduce] : llvm::enumerate(reductions))
               puller.setElement(reduce.getResult(),
                                 LLVM::LoadOp::create(builder, loc, types[n],
                                                      getAccumulator(n, i)));
             puller.storeResults();
           });
}

void ColumnEmitter::emitTile(Value outer, ColumnRange range) {
  SmallVector<Value> index = getIndex(puller, outer);
  emitLoop(
      builder, loc, puller.constant(0), range.width, [&](scf::ForOp, Value i) {
        for (auto [n, reduce] : llvm::enumerate(reductions))
          LLVM::StoreOp::create(builder, loc, getInitialValue(builder, reduce),
                                getAccumulator(n, i));
      });
  emitRows(index, 0, range);
  emitTail(outer, index, range);
}

void ColumnEmitter::emit(Value begin, Value end) {
  for (ReduceOp reduce : reductions) {
    Value initial = getInitialValue(builder, reduce);
    types.push_back(initial.getType());
    Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                           tileColumns);
    accumulators.push_back(LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        initial.getType(), count, /*alignment=*/64));
  }
  Value count = puller.constant(llvm::divideCeil(columns, tileColumns));
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
    Value row = arith::DivUIOp::create(builder, loc, tile, count);
    Value run = arith::RemUIOp::create(builder, loc, tile, count);
    emitTile(row, get(run));
  });
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

class ScatterEmitter : ColumnTiles {
public:
  ScatterEmitter(ElementPuller &puller, EmbeddingGradOp op)
      : ColumnTiles(puller), op(op) {}

  void emit(Value begin, Value end) {
    emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
      ColumnRange range = get(tile);
      // An accumulation in place starts with the accumulator's value.
      if (!addsToTable(op))
        emitZeros(range);
      emitRows(range);
    });
  }

private:
  void emitZeros(ColumnRange range) {
    emitLoop(builder, loc, puller.constant(0),
             puller.constant(getShape(op.getResult()).front()),
             [&](scf::ForOp, Value row) {
               Value start = puller.add(puller.mul(row, columns), range.first);
               emitLoop(builder, loc, puller.constant(0), range.width,
                        [&](scf::ForOp, Value i) {
                          clearTableElement(puller, op, puller.add(start, i));
                        });
             });
  }

  void emitRows(ColumnRange range) {
    emitLoop(builder, loc, puller.constant(0),
             puller.constant(puller.kernel.getFormAttr().getRows()),
             [&](scf::ForOp, Value row) {
               Position position = startRow(puller, row);
               position.index.back() = puller.constant(0);
               puller.setPosition(position, nullptr);
               TableRow named = pullTableRow(puller, op);
               auto isInside = scf::IfOp::create(builder, loc, named.isInside);
               OpBuilder::InsertionGuard guard(builder);
               builder.setInsertionPoint(isInside.thenBlock()->getTerminator());
               Value start =
                   puller.add(puller.mul(named.index, columns), range.first);
               emitLoop(builder, loc, puller.constant(0), range.width,
                        [&](scf::ForOp loop, Value i) {
                          position.index.back() = puller.add(range.first, i);
                          puller.setPosition(position, loop);
                          addTableElement(puller, op, puller.add(start, i));
                        });
             });
  }

  EmbeddingGradOp op;
};

//===----------------------------------------------------------------------===//
// The forms
//===----------------------------------------------------------------------===//

} // namespace

/// Returns the number of columns of a tile of columns.
static int64_t getTileColumns(int64_t columns, int64_t most) {
  // Loops of constant length become straight-line vector code.
  for (int64_t quarters : {4, 3, 2, 1})
    if (int64_t width = most * quarters / 4; width && columns % width == 0)
      return width;
  return std::min(columns, most);
}

TilesAttr pp::planColumnTiles(KernelOp kernel, int64_t others) {
  int64_t columns = kernel.getFormAttr().getColumns();
  int64_t size =
      getTileColumns(columns, getThreshold(kernel, Threshold::ColumnTile));
  return TilesAttr::get(kernel.getContext(),
                        others * llvm::divideCeil(columns, size), size,
                        TileUnit::Columns, /*block=*/0);
}

namespace {

class ColumnsForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    ReduceOp reduce = *kernel.getBody().getOps<ReduceOp>().begin();
    return planColumnTiles(kernel, getNumElements(reduce.getResult()) /
                                       kernel.getFormAttr().getColumns());
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {
    ElementPuller puller(builder, kernel, buffers);
    ColumnEmitter(puller).emit(begin, end);
  }
};

class ScatterForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    bool isLines = isa<ScatterAddOp>(*kernel.getFormOp());
    return planColumnTiles(kernel,
                           isLines ? kernel.getFormAttr().getRows() : 1);
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {
    ElementPuller puller(builder, kernel, buffers);
    if (auto op = dyn_cast<ScatterAddOp>(*kernel.getFormOp()))
      return emitScatterTiles(puller, op, begin, end);
    auto op = cast<EmbeddingGradOp>(kernel.getFormOp());
    ScatterEmitter(puller, op).emit(begin, end);
  }
};

} // namespace

PP_KERNEL_FORM(CpuForm, Columns, ColumnsForm)

PP_KERNEL_FORM(CpuForm, Scatter, ScatterForm)
