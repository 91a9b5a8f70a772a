//===- InsertReshards.cpp - Makes each reshard an op ----------------------===//

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class ReshardInserter {
public:
  explicit ReshardInserter(ShardingTable &table)
      : table(table), axes(table.axes), batchAxes(axes.getBatchAxes()) {}

  void insert(OpOperand &operand, const Sharding &to);
  void insertInStage(CopyOp copy);

private:
  Value reshard(Value value, const Sharding &to, Operation *reader);
  Sharding getMiddle(const Sharding &from, const Sharding &to,
                     ArrayRef<int64_t> shape) const;

  ShardingTable &table;
  const ShardingAxes &axes;
  AxisSet batchAxes;
  /// What needs a collective is resharded once for all readers of a block.
  DenseMap<std::pair<Value, Block *>, SmallVector<ReshardOp>> known;
};

} // namespace

std::optional<SmallVector<Cuts>>
pp::findPartLoops(Value value, const Sharding &rows, const ShardingAxes &axes) {
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1 || isa<ParamOp>(*op) || isTable(op) ||
      getMicrobatchDim(op))
    return std::nullopt;
  IterationSpace space = op.getIterationSpace();
  std::optional<SmallVector<Cuts>> loops =
      projectToLoops(space, space.results[0], rows, axes);
  if (!loops)
    return std::nullopt;
  for (auto [loop, cuts] : llvm::zip(space.loops, *loops))
    if (!cuts.empty() && loop.kind != LoopKind::Parallel)
      return std::nullopt;
  return loops;
}

bool pp::canRowsMeet(const ShardingAxes &axes) {
  AxisSet ranks = axes.getBatchAxes() & axes.getRankAxes();
  AxisSet others = axes.getBatchAxes() & ~ranks;
  return ranks && (!others || others == onlyAxis(0));
}

std::optional<unsigned> pp::getMicrobatchDim(Operation *op) {
  std::optional<uint64_t> dim;
  if (auto enter = dyn_cast<EnterMicrobatchOp>(op))
    dim = enter.getDim();
  else if (auto leave = dyn_cast<LeaveMicrobatchOp>(op))
    dim = leave.getDim();
  return dim;
}

void pp::crossMicrobatches(Operation *op, const ShardingAxes &axes,
                           Sharding &result) {
  std::optional<unsigned> axis =
      axes.find(StringAttr::get(op->getContext(), kMicrobatchAxis));
  if (!axis)
    return;
  if (isa<EnterMicrobatchOp>(op))
    result.sums &= ~onlyAxis(*axis);
  else if (isa<LeaveMicrobatchOp>(op) && !getMicrobatchDim(op))
    result.sums |= onlyAxis(*axis);
}

bool pp::isPrologueSum(Value sum) {
  return isa<FloatType>(getElementTypeOrSelf(sum));
}

ReshardOp pp::createReshard(OpBuilder &builder, Value value, Sharding to,
                            int64_t bytes, ShardingTable &table) {
  ArrayRef<int64_t> shape = getShape(value);
  Sharding from = table.of(value); // the table's own moves as it grows
  auto attrOf = [&](const Sharding &sharding) {
    return writeSharding(builder.getContext(), table.axes, sharding, shape);
  };
  auto op = ReshardOp::create(builder, value.getLoc(), value.getType(), value,
                              attrOf(from), attrOf(to), shape, bytes);
  table.ops[op] = {{}, {std::move(from)}};
  table.values[op] = std::move(to);
  table.write(op);
  return op;
}

FailureOr<std::pair<Sharding, Sharding>>
pp::readSides(ReshardOp op, const ShardingAxes &axes) {
  auto read = [&](ShardingAttr attr) {
    return readSharding(axes, attr, op.getShape(),
                        [&] { return op.emitOpError(); });
  };
  FailureOr<Sharding> from = read(op.getFrom()), to = read(op.getTo());
  if (failed(from) || failed(to))
    return failure();
  return std::pair(std::move(*from), std::move(*to));
}

Value pp::createShare(OpBuilder &builder, Location loc, Value whole,
                      int64_t count) {
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(whole));
  Value share =
      ConstantOp::create(builder, loc, type, 1.0 / static_cast<double>(count));
  return MulOp::create(builder, loc, whole, share);
}

/// Returns what a value is after it is resharded over the axes of the model,
/// and is over the batch axes as before; `to` if parts would overlap there.
Sharding ReshardInserter::getMiddle(const Sharding &from, const Sharding &to,
                                    ArrayRef<int64_t> shape) const {
  Sharding middle(from.dims.size());
  middle.sums = (from.sums & batchAxes) | (to.sums & ~batchAxes);
  middle.maxima = to.maxima;
  middle.dims = from.onlyCuts(batchAxes).dims;
  for (auto [cuts, others, size] :
       llvm::zip(middle.dims, to.onlyCuts(~batchAxes).dims, shape))
    for (Cut cut : others)
      if (!addCut(cuts, cut, size, axes))
        return to;
  return middle;
}

/// Where nothing is sent, the op stands before the reader, else after the
/// value, for all readers of the block. A value of another block is resharded
/// before the first reader.
Value ReshardInserter::reshard(Value value, const Sharding &to,
                               Operation *reader) {
  const Sharding &from = table.of(value);
  if (from == to)
    return value;
  double bytes =
      countReshardBytes(axes, from, to, static_cast<double>(getBytes(value)));
  ShardingAttr attr =
      writeSharding(value.getContext(), axes, to, getShape(value));
  SmallVector<ReshardOp> &others = known[{value, reader->getBlock()}];
  for (ReshardOp op : others)
    if (op.getTo() == attr)
      return op;
  OpBuilder builder(reader);
  if (bytes > 0 && value.getParentBlock() == reader->getBlock())
    builder.setInsertionPointAfterValue(value);
  ReshardOp op =
      createReshard(builder, value, to, static_cast<int64_t>(bytes), table);
  if (bytes > 0)
    others.push_back(op);
  return op;
}

void ReshardInserter::insert(OpOperand &operand, const Sharding &to) {
  Value value = operand.get();
  Sharding middle = getMiddle(table.of(value), to, getShape(value));
  value = reshard(value, middle, operand.getOwner());
  operand.set(reshard(value, to, operand.getOwner()));
}

/// Reshards over the axes of the model what a copy reads in another way than
/// its stage makes it: in the stage's region, after what the region yields.
void ReshardInserter::insertInStage(CopyOp copy) {
  Value sent = copy.getX();
  auto place = sent.getDefiningOp<PlaceOp>();
  Sharding to =
      getMiddle(table.of(sent), table.ops[copy].reads[0], getShape(sent));
  if (!place || table.of(sent) == to)
    return;
  Operation *yield = place.getBody().front().getTerminator();
  Value made = yield->getOperand(cast<OpResult>(sent).getResultNumber());
  if (table.of(made) != to) // a stage that only passes it on may have the part
    made = reshard(made, table.of(sent), yield);
  for (auto [yielded, result] :
       llvm::zip(yield->getOperands(), place.getResults())) {
    auto op = yielded.getDefiningOp<ReshardOp>();
    if (table.of(result) == to &&
        (yielded == made || (op && op.getX() == made)))
      return copy.getXMutable().assign(result);
  }
  unsigned added = yield->getNumOperands();
  yield->insertOperands(added, reshard(made, to, yield));
  table.ops[yield].reads.push_back(to);
  table.write(yield);
  SmallVector<Sharding> shardings;
  for (Value result : place.getResults()) {
    shardings.push_back(table.of(result));
    table.values.erase(result);
  }
  shardings.push_back(std::move(to));
  place = yieldAll(place);
  for (auto [result, sharding] : llvm::zip(place.getResults(), shardings))
    table.values[result] = std::move(sharding);
  table.write(place);
  copy.getXMutable().assign(place.getResult(added));
}

void pp::insertReshards(func::FuncOp entry, ShardingTable &table) {
  ReshardInserter inserter(table);
  for (auto copy : llvm::make_early_inc_range(entry.getOps<CopyOp>()))
    if (table.ops.contains(copy))
      inserter.insertInStage(copy);
  entry.getBody().walk([&](Operation *op) {
    auto found = table.ops.find(op);
    if (found == table.ops.end())
      return;
    auto isAsRead = [&](auto pair) {
      auto [operand, read] = pair;
      return table.of(operand) == read;
    };
    if (llvm::all_of(llvm::zip(op->getOperands(), found->second.reads),
                     isAsRead))
      return;
    SmallVector<Sharding> reads = found->second.reads; // the table will grow
    for (auto [operand, read] : llvm::zip(op->getOpOperands(), reads))
      inserter.insert(operand, read);
    table.write(op);
  });
}

namespace {

struct InsertReshards : pp::impl::InsertReshardsBase<InsertReshards> {
  void runOnOperation() override {
    auto &known = getAnalysis<KnownShardings>();
    FailureOr<func::FuncOp> entry = known.readEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    insertReshards(*entry, *known.table);
    markAnalysesPreserved<KnownShardings>();
  }
};

} // namespace
