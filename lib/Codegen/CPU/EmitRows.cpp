//===- EmitRows.cpp - Kernels over rows: sweeps over columns --------------===//
//
// A row is processed in sweeps. Each computes the reductions whose operands
// depend on no later sweep, and writes the results that are complete by then.
// Without reductions, and if all reads are at the same index, the space is one
// flat range.
//
// The order of a reduction follows from its type and the row's length,
// regardless of what else the sweep computes: lane l takes the elements l, l +
// lanes, …, and lanes are combined by halves.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Codegen/ElementPuller.h"

#include "ppopt/Analysis/Thresholds.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The reductions and results of a sweep.
struct Sweep {
  /// All have the same number of lanes.
  SmallVector<ReduceOp> reductions;
  SmallVector<unsigned> results; ///< of the kernel, full in its space
};

class RowEmitter {
public:
  explicit RowEmitter(ElementPuller &puller)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()),
        kernel(puller.kernel),
        returned(kernel.getBody().front().getTerminator()->getOperands()),
        flatTile(getThreshold(kernel, Threshold::FlatTile)) {
    findSpace();
    findSweeps();
  }

  int64_t emit(Value begin, Value end);

private:
  void findSpace();
  void findSweeps();
  unsigned getLevel(Value value);
  bool isFlat();
  bool isFull(Value value) {
    return getNumElements(value) == space.getNumElements();
  }
  int64_t emitFlat(Value begin, Value end);
  int64_t emitChunks(Value begin, Value end);
  void emitRow(Value row);
  void emitSweep(Sweep &sweep, Position position);
  void emitReductions(Sweep &sweep, Position position);
  int64_t countLanes(ReduceOp reduce);
  Value allocateLanes(VectorType type);
  Value combineHalves(ReduceOp reduce, Value lanes);
  void storeResults(ArrayRef<unsigned> results);
  Position startRow(Value row);
  Value min(Value a, Value b) {
    return arith::MinUIOp::create(builder, loc, a, b);
  }

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  KernelOp kernel;
  ValueRange returned;
  /// Elements of a tile of a flat range, and of a long row without reductions.
  int64_t flatTile;
  Space space;
  SmallVector<int64_t> sizes;
  /// One sweep per level, or several if the level's reductions differ in lanes.
  SmallVector<SmallVector<Sweep, 1>> sweeps;
  SmallVector<unsigned> rowResults;
  DenseMap<Value, unsigned> levels;
};

/// The space is that of the reductions, or of the largest result.
void RowEmitter::findSpace() {
  Value full;
  for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
    full = reduce.getX();
  if (!full)
    for (Value value : returned)
      if (!full || getNumElements(value) > getNumElements(full))
        full = value;
  space = getSpace(full);
  sizes = dropUnitDims(getShape(full));
  if (sizes.empty())
    sizes.push_back(1);
}

/// Returns the first sweep in which an element of `value` can be computed.
unsigned RowEmitter::getLevel(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto it = levels.find(value); it != levels.end())
    return it->second;
  unsigned level = 0;
  for (Value operand : op->getOperands())
    level = std::max(level, getLevel(operand));
  if (isa<ReduceOp>(op))
    ++level;
  return levels[value] = level;
}

void RowEmitter::findSweeps() {
  auto at = [&](unsigned level) -> SmallVector<Sweep, 1> & {
    if (sweeps.size() <= level)
      sweeps.resize(level + 1);
    if (sweeps[level].empty())
      sweeps[level].emplace_back();
    return sweeps[level];
  };
  for (auto reduce : kernel.getBody().front().getOps<ReduceOp>()) {
    SmallVector<Sweep, 1> &ofLevel = at(getLevel(reduce.getX()));
    Sweep *sweep = llvm::find_if(ofLevel, [&](const Sweep &sweep) {
      return sweep.reductions.empty() ||
             countLanes(sweep.reductions.front()) == countLanes(reduce);
    });
    if (sweep == ofLevel.end())
      sweep = &ofLevel.emplace_back();
    sweep->reductions.push_back(reduce);
  }
  for (auto [i, value] : llvm::enumerate(returned)) {
    // A result may overwrite what the level's other sweeps read.
    if (isFull(value))
      at(getLevel(value)).back().results.push_back(i);
    else
      rowResults.push_back(i);
  }
}

/// Returns whether no element depends on its index, except by reads at the same
/// index.
bool RowEmitter::isFlat() {
  AccessProbe probe(kernel.getContext());
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<ReduceOp>(op))
      return false;
    if (isa<ReshapeOp>(op))
      continue;
    int64_t count = getNumElements(op.getResult(0));
    if (count != 1 && !isFull(op.getResult(0)))
      return false;
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (constant.getValue().isSplat())
        continue;
    OpReads reads = probe.probeOperands(cast<ElementOpInterface>(op));
    if (reads.usesIndex)
      return false;
    for (const Read &read : reads.reads)
      if (read.access != Access::Identity && getNumElements(read.source) != 1)
        return false;
  }
  return llvm::all_of(returned, [&](Value value) { return isFull(value); });
}

/// Computes all, then stores all: a result may share its buffer with an
/// argument.
void RowEmitter::storeResults(ArrayRef<unsigned> results) {
  SmallVector<Value> elements;
  for (unsigned i : results)
    elements.push_back(puller.pull(returned[i]));
  for (auto [i, element] : llvm::zip(results, elements))
    puller.store(element, puller.getResultBuffer(i),
                 getElementTypeOrSelf(returned[i]),
                 puller.linearize(getShape(returned[i])));
}

Position RowEmitter::startRow(Value row) {
  Position position;
  position.space = space;
  position.sizes = sizes;
  position.row = row;
  position.rowStart =
      space.rows == 1 ? Value() : puller.mul(row, space.columns);
  SmallVector<Value> index;
  Value rest = row;
  for (size_t i = sizes.size() - 1; i-- > 0;) {
    if (i == 0) {
      index.push_back(rest);
      break;
    }
    Value size = puller.constant(sizes[i]);
    index.push_back(arith::RemUIOp::create(builder, loc, rest, size));
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  position.index.assign(index.rbegin(), index.rend());
  position.index.push_back(Value());
  return position;
}

/// Returns a power of two: four registers of 64 bytes, or as many as divide the
/// row.
int64_t RowEmitter::countLanes(ReduceOp reduce) {
  Type type = getStatisticsType(getElementTypeOrSelf(reduce.getX()));
  int64_t lanes = getThreshold(kernel, Threshold::SumLanes);
  if (lanes == 0)
    lanes = std::max<int64_t>(1, 2048 / type.getIntOrFloatBitWidth());
  lanes = llvm::bit_floor(uint64_t(std::min(lanes, space.columns)));
  constexpr int64_t kFewest = 16, kShortRow = 8;
  if (space.columns % lanes != 0 && space.columns < kShortRow * lanes)
    for (int64_t fewer = lanes / 2; fewer >= kFewest; fewer /= 2)
      if (space.columns % fewer == 0)
        return fewer;
  return lanes;
}

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

void RowEmitter::emitReductions(Sweep &sweep, Position position) {
  int64_t lanes = countLanes(sweep.reductions.front());
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
               storeResults(sweep.results);
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

void RowEmitter::emitSweep(Sweep &sweep, Position position) {
  if (!sweep.reductions.empty())
    emitReductions(sweep, position);
  else
    emitLoop(builder, loc, puller.constant(0), puller.constant(space.columns),
             [&](scf::ForOp loop, Value column) {
               position.index.back() = column;
               puller.setPosition(position, loop);
               storeResults(sweep.results);
             });
  for (unsigned i : sweep.results)
    puller.setStored(returned[i], i);
}

void RowEmitter::emitRow(Value row) {
  Position position = startRow(row);
  for (SmallVector<Sweep, 1> &ofLevel : sweeps)
    for (Sweep &sweep : ofLevel)
      emitSweep(sweep, position);
  position.index.back() = puller.constant(0);
  puller.setPosition(position, nullptr);
  storeResults(rowResults);
}

int64_t RowEmitter::emitFlat(Value begin, Value end) {
  int64_t count = space.getNumElements();
  Value first = puller.mul(begin, flatTile);
  Value last = min(puller.mul(end, flatTile), puller.constant(count));
  Value zero = puller.constant(0);
  emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value i) {
    Position position;
    position.space = {1, count};
    position.sizes = {count};
    position.index = {i};
    position.row = zero;
    puller.setPosition(position, loop);
    storeResults(sweeps.front().front().results);
  });
  return llvm::divideCeil(count, flatTile);
}

/// Long rows without reductions: a tile is a part of a row.
int64_t RowEmitter::emitChunks(Value begin, Value end) {
  int64_t chunks = llvm::divideCeil(space.columns, flatTile);
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
    Value count = puller.constant(chunks);
    Value row = arith::DivUIOp::create(builder, loc, tile, count);
    Value chunk = arith::RemUIOp::create(builder, loc, tile, count);
    Position position = startRow(row);
    Value first = puller.mul(chunk, flatTile);
    Value last = min(puller.add(first, puller.constant(flatTile)),
                     puller.constant(space.columns));
    emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value column) {
      position.index.back() = column;
      puller.setPosition(position, loop);
      storeResults(sweeps.front().front().results);
    });
  });
  return space.rows * chunks;
}

int64_t RowEmitter::emit(Value begin, Value end) {
  bool isOneSweep = rowResults.empty() && sweeps.size() == 1 &&
                    sweeps.front().front().reductions.empty();
  if (isOneSweep && isFlat())
    return emitFlat(begin, end);
  if (isOneSweep && space.columns > 2 * flatTile)
    return emitChunks(begin, end);
  emitLoop(builder, loc, begin, end,
           [&](scf::ForOp, Value row) { emitRow(row); });
  return space.rows;
}

} // namespace

int64_t pp::emitRows(ElementPuller &puller, Value begin, Value end) {
  return RowEmitter(puller).emit(begin, end);
}
