//===- EmitRows.cpp - Kernels over rows: sweeps over columns --------------===//
//
// A row's sweeps: each computes the reductions whose operands need nothing of
// later sweeps, and writes the results that are complete by then. Without
// reductions and with all reads at the same index the space is one flat range.
//
//===----------------------------------------------------------------------===//

#include "ElementPuller.h"

using namespace mlir;
using namespace mlir::pp;

/// Elements of a tile of a flat range, and of a long row without reductions.
static constexpr int64_t kFlatTile = 4096;

namespace {

/// What a sweep gives.
struct Sweep {
  SmallVector<ReduceOp> reductions;
  SmallVector<unsigned> results; ///< of the kernel, full in its space
};

class RowEmitter {
public:
  explicit RowEmitter(ElementPuller &puller)
      : puller(puller), builder(puller.builder), loc(puller.getLoc()),
        kernel(puller.kernel),
        returned(kernel.getBody().front().getTerminator()->getOperands()) {
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
  Space space;
  SmallVector<int64_t> sizes;
  SmallVector<Sweep> sweeps;
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

/// The sweep in which an element of `value` can first be computed.
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
  auto at = [&](unsigned level) -> Sweep & {
    if (sweeps.size() <= level)
      sweeps.resize(level + 1);
    return sweeps[level];
  };
  for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
    at(getLevel(reduce.getX())).reductions.push_back(reduce);
  for (auto [i, value] : llvm::enumerate(returned)) {
    if (isFull(value))
      at(getLevel(value)).results.push_back(i);
    else
      rowResults.push_back(i);
  }
}

/// Whether no element depends on where it is, but for reads at the same index.
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

void RowEmitter::emitSweep(Sweep &sweep, Position position) {
  SmallVector<Value> initial;
  for (ReduceOp reduce : sweep.reductions)
    initial.push_back(getInitialValue(builder, reduce));
  auto loop = scf::ForOp::create(builder, loc, puller.constant(0),
                                 puller.constant(space.columns),
                                 puller.constant(1), initial);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    position.index.back() = loop.getInductionVar();
    puller.setPosition(position, loop);
    SmallVector<Value> next;
    for (auto [reduce, accumulator] :
         llvm::zip(sweep.reductions, loop.getRegionIterArgs()))
      next.push_back(
          combine(builder, reduce, accumulator, puller.pull(reduce.getX())));
    storeResults(sweep.results);
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  for (auto [reduce, result] : llvm::zip(sweep.reductions, loop.getResults()))
    puller.setElement(reduce.getResult(), result);
  for (unsigned i : sweep.results)
    puller.setStored(returned[i], i);
}

void RowEmitter::emitRow(Value row) {
  Position position = startRow(row);
  for (Sweep &sweep : sweeps)
    if (!sweep.reductions.empty() || !sweep.results.empty())
      emitSweep(sweep, position);
  position.index.back() = puller.constant(0);
  puller.setPosition(position, nullptr);
  storeResults(rowResults);
}

int64_t RowEmitter::emitFlat(Value begin, Value end) {
  int64_t count = space.getNumElements();
  Value first = puller.mul(begin, kFlatTile);
  Value last = min(puller.mul(end, kFlatTile), puller.constant(count));
  Value zero = puller.constant(0);
  emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value i) {
    Position position;
    position.space = {1, count};
    position.sizes = {count};
    position.index = {i};
    position.row = zero;
    puller.setPosition(position, loop);
    storeResults(sweeps.front().results);
  });
  return llvm::divideCeil(count, kFlatTile);
}

/// Long rows without reductions: a tile is a part of a row.
int64_t RowEmitter::emitChunks(Value begin, Value end) {
  int64_t chunks = llvm::divideCeil(space.columns, kFlatTile);
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
    Value count = puller.constant(chunks);
    Value row = arith::DivUIOp::create(builder, loc, tile, count);
    Value chunk = arith::RemUIOp::create(builder, loc, tile, count);
    Position position = startRow(row);
    Value first = puller.mul(chunk, kFlatTile);
    Value last = min(puller.add(first, puller.constant(kFlatTile)),
                     puller.constant(space.columns));
    emitLoop(builder, loc, first, last, [&](scf::ForOp loop, Value column) {
      position.index.back() = column;
      puller.setPosition(position, loop);
      storeResults(sweeps.front().results);
    });
  });
  return space.rows * chunks;
}

int64_t RowEmitter::emit(Value begin, Value end) {
  bool isOneSweep = rowResults.empty() && sweeps.size() == 1 &&
                    sweeps.front().reductions.empty();
  if (isOneSweep && isFlat())
    return emitFlat(begin, end);
  if (isOneSweep && space.columns > 2 * kFlatTile)
    return emitChunks(begin, end);
  emitLoop(builder, loc, begin, end,
           [&](scf::ForOp, Value row) { emitRow(row); });
  return space.rows;
}

} // namespace

int64_t pp::emitRows(ElementPuller &puller, Value begin, Value end) {
  return RowEmitter(puller).emit(begin, end);
}
