//===- EmitRows.cpp - Kernels over rows: sweeps over columns --------------===//
//
// A row is processed in the kernel's sweeps. Tiles of elements make the space
// one flat range; tiles of columns are parts of rows.
//
// The order of a reduction follows from its lanes, regardless of what else the
// sweep computes: lane l takes the elements l, l + lanes, …, and lanes are
// combined by halves.
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/RowLoops.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class RowEmitter {
public:
  explicit RowEmitter(ElementPuller &puller)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()),
        kernel(puller.kernel),
        returned(kernel.getBody().front().getTerminator()->getOperands()),
        tiles(kernel.getTilesAttr()), sweeps(kernel) {
    FormAttr form = kernel.getFormAttr();
    space = {form.getRows(), form.getColumns()};
  }

  void emit(Value begin, Value end);

private:
  void emitFlat(Value begin, Value end);
  void emitChunks(Value begin, Value end);
  void emitRow(Value row);
  void emitSweep(RowLoop &sweep, Position position);
  void emitReductions(RowLoop &sweep, Position position);
  Value allocateLanes(VectorType type);
  Value combineHalves(ReduceOp reduce, Value lanes);
  Value min(Value a, Value b) {
    return arith::MinUIOp::create(builder, loc, a, b);
  }

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  KernelOp kernel;
  ValueRange returned;
  TilesAttr tiles;
  Space space;
  RowLoops sweeps;
};

/// Allocates memory for one element per lane; LLVM replaces it by registers if
/// it unrolls the loop that fills it.
Value RowEmitter::allocateLanes(VectorType type) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()
                      ->getParentOp()
                      ->getParentOfType<LLVM::LLVMFuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         type.getNumElements());
  return LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      type.getElementType(), count, /*alignment=*/64);
}

Value RowEmitter::combineHalves(ReduceOp reduce, Value lanes) {
  int64_t count = cast<VectorType>(lanes.getType()).getNumElements();
  for (; count > 1; count /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, count / 2));
    auto high = llvm::to_vector(llvm::seq<int64_t>(count / 2, count));
    lanes =
        combine(builder, reduce,
                vector::ShuffleOp::create(builder, loc, lanes, lanes, low),
                vector::ShuffleOp::create(builder, loc, lanes, lanes, high));
  }
  return vector::ExtractOp::create(builder, loc, lanes, ArrayRef<int64_t>{0});
}

void RowEmitter::emitReductions(RowLoop &sweep, Position position) {
  int64_t lanes = *kernel.getLanes(sweep.reductions.front());
  SmallVector<Value> initial, staged;
  for (ReduceOp reduce : sweep.reductions) {
    Value scalar = getInitialValue(builder, reduce);
    auto type = VectorType::get({lanes}, scalar.getType());
    initial.push_back(vector::BroadcastOp::create(builder, loc, type, scalar));
    staged.push_back(allocateLanes(type));
  }
  auto load = [&](unsigned i) -> Value {
    return LLVM::LoadOp::create(builder, loc, initial[i].getType(), staged[i],
                                /*alignment=*/64);
  };
  // Columns [first, first + count), one element per lane.
  auto stage = [&](Value first, int64_t count, Operation *rowLevel) {
    emitLoop(builder, loc, puller.constant(0), puller.constant(count),
             [&](scf::ForOp, Value lane) {
               position.index.back() = puller.add(first, lane);
               puller.setPosition(position, rowLevel);
               for (auto [reduce, memory] :
                    llvm::zip(sweep.reductions, staged)) {
                 Value element = puller.pull(reduce.getX());
                 LLVM::StoreOp::create(
                     builder, loc, element,
                     puller.address(memory, element.getType(), lane));
               }
               puller.storeResults(sweep.results);
             });
  };
  auto add = [&](ValueRange sums) {
    SmallVector<Value> next;
    for (auto [i, reduce] : llvm::enumerate(sweep.reductions))
      next.push_back(combine(builder, reduce, sums[i], load(i)));
    return next;
  };

  int64_t whole = space.columns / lanes * lanes;
  auto loop = scf::ForOp::create(builder, loc, puller.constant(0),
                                 puller.constant(whole), puller.constant(lanes),
                                 initial);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    stage(loop.getInductionVar(), lanes, loop);
    scf::YieldOp::create(builder, loc, add(loop.getRegionIterArgs()));
  }
  SmallVector<Value> sums(loop.getResults());
  if (whole < space.columns) {
    for (auto [none, memory] : llvm::zip(initial, staged))
      LLVM::StoreOp::create(builder, loc, none, memory, /*alignment=*/64);
    stage(puller.constant(whole), space.columns - whole, loop);
    sums = add(sums);
  }
  for (auto [reduce, sum] : llvm::zip(sweep.reductions, sums))
    puller.setElement(reduce.getResult(), combineHalves(reduce, sum));
}

void RowEmitter::emitSweep(RowLoop &sweep, Position position) {
  if (!sweep.reductions.empty())
    emitReductions(sweep, position);
  else
    emitLoop(builder, loc, puller.constant(0), puller.constant(space.columns),
             [&](scf::ForOp loop, Value column) {
               position.index.back() = column;
               puller.setPosition(position, loop);
               puller.storeResults(sweep.results);
             });
  for (unsigned i : sweep.results)
    puller.setStored(returned[i], i);
}

void RowEmitter::emitRow(Value row) {
  Position position = startRow(puller, row);
  for (RowLoop &loop : sweeps.loops)
    emitSweep(loop, position);
  position.index.back() = puller.constant(0);
  puller.setPosition(position, nullptr);
  puller.storeResults(sweeps.rowResults);
}

void RowEmitter::emitFlat(Value begin, Value end) {
  int64_t count = space.getNumElements();
  Value first = puller.mul(begin, tiles.getSize());
  Value last = min(puller.mul(end, tiles.getSize()), puller.constant(count));
  Value zero = puller.constant(0);
  emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value i) {
    Position position;
    position.space = {1, count};
    position.sizes = {count};
    position.index = {i};
    position.row = zero;
    puller.setPosition(position, loop);
    puller.storeResults(sweeps.loops.front().results);
  });
}

/// Long rows without reductions: a tile is a part of a row.
void RowEmitter::emitChunks(Value begin, Value end) {
  int64_t size = tiles.getSize();
  int64_t chunks = llvm::divideCeil(space.columns, size);
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
    Value count = puller.constant(chunks);
    Value row = arith::DivUIOp::create(builder, loc, tile, count);
    Value chunk = arith::RemUIOp::create(builder, loc, tile, count);
    Position position = startRow(puller, row);
    Value first = puller.mul(chunk, size);
    Value last = min(puller.add(first, puller.constant(size)),
                     puller.constant(space.columns));
    emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value column) {
      position.index.back() = column;
      puller.setPosition(position, loop);
      puller.storeResults(sweeps.loops.front().results);
    });
  });
}

void RowEmitter::emit(Value begin, Value end) {
  if (tiles.getUnit() == TileUnit::Elements)
    return emitFlat(begin, end);
  if (tiles.getUnit() == TileUnit::Columns)
    return emitChunks(begin, end);
  emitLoop(builder, loc, begin, end,
           [&](scf::ForOp, Value row) { emitRow(row); });
}

/// Returns a power of two: four registers of 64 bytes, or as many as divide the
/// row.
int64_t countLanes(KernelOp kernel, ReduceOp reduce) {
  int64_t columns = kernel.getFormAttr().getColumns();
  Type type = getStatisticsType(getElementTypeOrSelf(reduce.getX()));
  int64_t lanes = getThreshold(kernel, Threshold::SumLanes);
  if (lanes == 0)
    lanes = std::max<int64_t>(1, 2048 / type.getIntOrFloatBitWidth());
  lanes = llvm::bit_floor(uint64_t(std::min(lanes, columns)));
  constexpr int64_t kFewest = 16, kShortRow = 8;
  if (columns % lanes != 0 && columns < kShortRow * lanes)
    for (int64_t fewer = lanes / 2; fewer >= kFewest; fewer /= 2)
      if (columns % fewer == 0)
        return fewer;
  return lanes;
}

class RowsForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    Block &body = kernel.getBody().front();
    FormAttr form = kernel.getFormAttr();
    for (auto reduce : body.getOps<ReduceOp>())
      kernel.setLanes(reduce, countLanes(kernel, reduce));
    int64_t size = getThreshold(kernel, Threshold::FlatTile);
    bool isOneSweep =
        body.getOps<ReduceOp>().empty() &&
        llvm::all_of(body.getTerminator()->getOperands(),
                     [&](Value value) { return kernel.isFull(value); });
    auto makeTiles = [&](int64_t count, int64_t size, TileUnit unit) {
      return TilesAttr::get(kernel.getContext(), count, size, unit,
                            /*block=*/0);
    };
    if (isOneSweep && isFlatRange(kernel))
      return makeTiles(llvm::divideCeil(form.getNumElements(), size), size,
                       TileUnit::Elements);
    if (isOneSweep && form.getColumns() > 2 * size)
      return makeTiles(form.getRows() *
                           llvm::divideCeil(form.getColumns(), size),
                       size, TileUnit::Columns);
    return makeTiles(form.getRows(), 1, TileUnit::Rows);
  }

  LogicalResult check(KernelOp kernel, int64_t vectorBytes) const override {
    for (auto reduce : kernel.getBody().getOps<ReduceOp>())
      if (!kernel.getLanes(reduce))
        return kernel.emitOpError("has a reduction without lanes; run "
                                  "--pp-plan-kernels first");
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {
    ElementPuller puller(builder, kernel, buffers);
    RowEmitter(puller).emit(begin, end);
  }
};

} // namespace

PP_KERNEL_FORM(CpuForm, Rows, RowsForm)
