//===- EmitColumns.cpp - Kernels that reduce rows, and scatters -----------===//
//
// A tile is a run of columns. Rows are processed in order, so the order of a
// sum does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "EmitForms.h"

#include "ppopt/Codegen/TableRows.h"

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
        sizes(puller.kernel.getFormAttr().getSizes()), columns(sizes.back()),
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
  ArrayRef<int64_t> sizes; ///< of the kernel's space
  int64_t columns, tileColumns;
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

class ColumnEmitter : ColumnTiles {
public:
  ColumnEmitter(ElementPuller &puller, SmallVector<ReduceOp> reductions)
      : ColumnTiles(puller), reductions(reductions) {
    ReduceOp first = reductions.front();
    for (auto [i, dim] :
         llvm::enumerate(getNonUnitDims(getShape(first.getX()))))
      (llvm::is_contained(first.getDims(), static_cast<int64_t>(dim)) ? reduced
                                                                      : kept)
          .push_back(i);
  }

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

  SmallVector<ReduceOp> reductions;
  /// Indices into `sizes`; the last of `kept` is the column.
  SmallVector<unsigned> reduced, kept;
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
  Position position;
  position.space = getSpace(sizes);
  position.sizes.assign(sizes.begin(), sizes.end());
  position.row = zero;
  int64_t stride = 1;
  for (size_t i = sizes.size() - 1; i-- > 0; stride *= sizes[i])
    position.row = puller.add(position.row, puller.mul(index[i], stride));
  position.rowStart = puller.mul(position.row, columns);
  emitLoop(builder, loc, zero, range.width, [&](scf::ForOp loop, Value i) {
    index.back() = puller.add(range.first, i);
    position.index = index;
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
  Position position;
  for (unsigned i : kept) {
    position.sizes.push_back(sizes[i]);
    position.index.push_back(index[i]);
  }
  position.space = getSpace(position.sizes);
  position.row = outer;
  position.rowStart = puller.mul(outer, columns);
  ValueRange returned =
      puller.kernel.getBody().front().getTerminator()->getOperands();
  emitLoop(builder, loc, puller.constant(0), range.width,
           [&](scf::ForOp loop, Value i) {
             position.index.back() = puller.add(range.first, i);
             puller.setPosition(position, loop);
             for (auto [n, reduce] : llvm::enumerate(reductions))
               puller.setElement(reduce.getResult(),
                                 LLVM::LoadOp::create(builder, loc, types[n],
                                                      getAccumulator(n, i)));
             SmallVector<Value> elements;
             for (Value value : returned)
               elements.push_back(puller.pull(value));
             for (auto [n, element] : llvm::enumerate(elements))
               puller.store(element, puller.getResultBuffer(n),
                            getElementTypeOrSelf(returned[n]),
                            puller.linearize(getShape(returned[n])));
           });
}

void ColumnEmitter::emitTile(Value outer, ColumnRange range) {
  SmallVector<Value> index(sizes.size());
  Value rest = outer;
  for (size_t i = kept.size() - 1; i-- > 0;) {
    Value size = puller.constant(sizes[kept[i]]);
    index[kept[i]] =
        i == 0 ? rest
               : arith::RemUIOp::create(builder, loc, rest, size).getResult();
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
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
  Type getElement() { return getElementTypeOrSelf(op.getResult()); }

  void emitZeros(ColumnRange range) {
    Type compute = getStatisticsType(getElement());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(compute));
    emitLoop(builder, loc, puller.constant(0),
             puller.constant(getShape(op.getResult()).front()),
             [&](scf::ForOp, Value row) {
               Value start = puller.add(puller.mul(row, columns), range.first);
               emitLoop(builder, loc, puller.constant(0), range.width,
                        [&](scf::ForOp, Value i) {
                          puller.store(zero, puller.getResultBuffer(0),
                                       getElement(), puller.add(start, i));
                        });
             });
  }

  void emitRows(ColumnRange range) {
    Position position;
    position.sizes.assign(sizes.begin(), sizes.end());
    position.space = {puller.kernel.getFormAttr().getRows(), columns};
    emitLoop(builder, loc, puller.constant(0),
             puller.constant(position.space.rows), [&](scf::ForOp, Value row) {
               position.row = row;
               position.rowStart = puller.mul(row, columns);
               position.index = puller.delinearize(
                   row, ArrayRef(position.sizes).drop_back());
               position.index.push_back(puller.constant(0));
               puller.setPosition(position, nullptr);
               Value start = puller.add(
                   puller.mul(pullTableRow(puller, op), columns), range.first);
               emitLoop(builder, loc, puller.constant(0), range.width,
                        [&](scf::ForOp loop, Value i) {
                          position.index.back() = puller.add(range.first, i);
                          puller.setPosition(position, loop);
                          addRow(puller.pull(op.getDy()), puller.add(start, i));
                        });
             });
  }

  void addRow(Value element, Value at) {
    Value table = puller.getResultBuffer(0);
    Value sum = puller.load(table, getElement(), at);
    puller.store(arith::AddFOp::create(builder, loc, sum, element), table,
                 getElement(), at);
  }

  EmbeddingGradOp op;
};

} // namespace

void pp::emitColumns(ElementPuller &puller, Value begin, Value end) {
  SmallVector<ReduceOp> reductions(
      puller.kernel.getBody().front().getOps<ReduceOp>());
  ColumnEmitter(puller, reductions).emit(begin, end);
}

void pp::emitScatter(ElementPuller &puller, Value begin, Value end) {
  auto scatters = puller.kernel.getBody().front().getOps<EmbeddingGradOp>();
  ScatterEmitter(puller, *scatters.begin()).emit(begin, end);
}
