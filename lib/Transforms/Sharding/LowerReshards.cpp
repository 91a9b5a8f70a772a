//===- LowerReshards.cpp - Lowers what the batch axes need ----------------===//
//
// A sum of inputs that is read complete becomes a pp.batch_sum, which the
// prologue computes. A whole value that is read cut is computed again for a
// part of the rows, if its op can. A whole value that is read as a partial sum
// is divided by the number of parts. What training alone reads over single rows
// is the value. Other reshards, of rows that meet, stay: they become
// collectives as those over axes of the model do.
//
//   %1 = pp.reshard %0 from <[], sum = {dp, mb}> to <[]> of [] ...  // before
//   %1 = pp.batch_sum %0                                            // after
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"
#include "ppopt/Transforms/Sharding/TrainingOps.h"

#include <set>
#include <tuple>

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a value depends on an input of the model, on no parameter,
/// and not on which microbatch is running.
static bool followsFromInputs(Value value, DenseMap<Value, bool> &known) {
  if (isa<BlockArgument>(value))
    return true;
  value = throughCopies(value);
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool follows = !op || (!isa<ParamOp, EnterMicrobatchOp>(op) &&
                         llvm::all_of(op->getOperands(), [&](Value operand) {
                           return followsFromInputs(operand, known);
                         }));
  return known[value] = follows;
}

namespace {

class ReshardLowering {
public:
  ReshardLowering(func::FuncOp entry, ShardingTable &table, bool evaluatesRows)
      : entry(entry), training(entry), table(table), axes(table.axes),
        batchAxes(axes.getBatchAxes()), evaluatesRows(evaluatesRows) {}

  void run();

private:
  bool isOverBatch(ReshardOp op) const;
  bool isShare(ReshardOp op) const;
  bool needsTask(ReshardOp op);
  bool canCut(Value value, const Sharding &rows);
  bool canComplete(Value value);
  Value lower(ReshardOp op);
  Value throughReshards(Value value) const;
  Value complete(Value partial);
  Value getCut(Value value, const Sharding &rows);
  Value computeCut(Value value, const Sharding &rows);
  Value computeCut(ReshardOp op, const Sharding &rows);
  Value divide(ReshardOp op);
  void addLike(Value part, const Sharding &sharding);
  Sharding addRows(const Sharding &sharding, const Sharding &rows) const;

  func::FuncOp entry;
  TrainingOps training;
  ShardingTable &table;
  const ShardingAxes &axes;
  AxisSet batchAxes;
  bool evaluatesRows;
  DenseMap<Value, Value> sums;
  DenseMap<Value, SmallVector<std::pair<Sharding, Value>>> parts;
  DenseMap<Value, bool> inputs; ///< of followsFromInputs
  /// Results of reshards that become collectives.
  DenseSet<Value> met;
};

} // namespace

bool ReshardLowering::isOverBatch(ReshardOp op) const {
  const Sharding &from = table.of(op.getX()), &to = table.of(op.getResult());
  return from.onlyCuts(batchAxes) != to.onlyCuts(batchAxes) ||
         ((from.sums ^ to.sums) & batchAxes);
}

/// Returns the value that was resharded over batch axes outside of tasks:
/// globally the same.
Value ReshardLowering::throughReshards(Value value) const {
  if (auto op = value.getDefiningOp<ReshardOp>();
      op && isOverBatch(op) && !met.contains(value))
    return throughReshards(op.getX());
  if (auto sum = value.getDefiningOp<BatchSumOp>())
    return throughReshards(sum.getPartial());
  return value;
}

/// Returns a sharding with the rows cut as well.
Sharding ReshardLowering::addRows(const Sharding &sharding,
                                  const Sharding &rows) const {
  Sharding cut = sharding;
  cut.sums &= ~batchAxes;
  for (auto [to, from] : llvm::zip(cut.dims, rows.dims))
    mergeCuts(to, from);
  return cut;
}

/// Returns a sum of inputs completed by the prologue; whole values as they are.
Value ReshardLowering::complete(Value value) {
  value = throughReshards(value);
  if (!(table.of(value).sums & batchAxes))
    return value;
  Value &sum = sums[value];
  if (sum)
    return sum;
  // Behind the value: other stages may need the sum too.
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointAfterValue(value);
  sum = BatchSumOp::create(builder, value.getLoc(), value,
                           /*count=*/findCount(value) != nullptr);
  Sharding whole = table.of(value);
  whole.sums &= ~batchAxes;
  table.values[sum] = std::move(whole);
  table.write(sum.getDefiningOp());
  return sum;
}

/// Returns a value with its rows cut. The propagation has shown that it can be
/// had.
Value ReshardLowering::getCut(Value value, const Sharding &rows) {
  if (table.of(value).onlyCuts(batchAxes) == rows)
    return value;
  if (Value source = throughReshards(value); source != value)
    return getCut(source, rows);
  for (auto &[cut, part] : parts[value])
    if (cut == rows)
      return part;
  auto reshard = value.getDefiningOp<ReshardOp>();
  Value part = reshard ? computeCut(reshard, rows) : computeCut(value, rows);
  parts[value].push_back({rows, part});
  return part;
}

/// Computes a value again for a part of its rows.
Value ReshardLowering::computeCut(Value value, const Sharding &rows) {
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  assert(op && op->getNumResults() == 1 && "the propagation has checked it");
  IterationSpace space = op.getIterationSpace();
  std::optional<SmallVector<Cuts>> loops =
      projectToLoops(space, space.results[0], rows, axes);
  assert(loops && "the propagation has checked it");
  OpSharding sharding = table.of(op);
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Sharding needed = projectToTensor(space, space.operands[i], *loops);
    operands.push_back(needed.getCutAxes() ? getCut(operand, needed)
                                           : complete(operand));
    sharding.reads[i] = addRows(sharding.reads[i], needed);
  }
  OpBuilder builder(op);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (auto [to, from] : llvm::zip(sharding.loops, *loops))
    mergeCuts(to, from);
  Value part = clone->getResult(0);
  table.values[part] = addRows(table.of(value), rows);
  table.ops[clone] = std::move(sharding);
  table.write(clone);
  return part;
}

/// Reshards the part over an axis of the model as the whole was.
Value ReshardLowering::computeCut(ReshardOp op, const Sharding &rows) {
  Value x = getCut(op.getX(), rows);
  Sharding to = addRows(table.of(op.getResult()), rows);
  OpBuilder builder(op);
  int64_t bytes = op.getBytes() / axes.countParts(rows.getCutAxes());
  return createReshard(builder, x, std::move(to), bytes, table);
}

/// Enters the value of an elementwise op that reads its first operand as the
/// result is, and its other operands, scalars, whole.
void ReshardLowering::addLike(Value part, const Sharding &sharding) {
  auto op = cast<IterationSpaceOpInterface>(part.getDefiningOp());
  table.values[part] = sharding;
  SmallVector<Cuts> loops(op.getIterationSpace().loops.size());
  for (auto [dim, cuts] : llvm::enumerate(sharding.dims))
    loops[dim] = cuts;
  SmallVector<Sharding> reads(op->getNumOperands(), Sharding(0));
  if (!reads.empty())
    reads.front() = sharding;
  table.ops[op] = {std::move(loops), std::move(reads)};
  table.write(op);
}

/// Divides a whole value by the number of parts. A gradient that every part
/// adds is divided where it is added.
Value ReshardLowering::divide(ReshardOp op) {
  Sharding to = table.of(op.getResult());
  AxisSet added = to.sums & ~table.of(op.getX()).sums & batchAxes;
  int64_t count = axes.countParts(added);
  if (op->hasOneUse())
    if (auto add = dyn_cast<AddGradOp>(*op->user_begin())) {
      if (count > 1)
        add.setTiles(count);
      return op.getX();
    }
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value part = op.getX();
  if (count > 1) {
    part = createShare(builder, loc, part, count);
    addLike(part.getDefiningOp()->getOperand(1), Sharding(0));
    addLike(part, to);
  }
  auto place = op->getParentOfType<PlaceOp>();
  if (evaluatesRows && !(place && place.getBackward())) {
    part = EvaluationShareOp::create(builder, loc, part, /*key=*/Value(),
                                     /*rows=*/IntegerAttr());
    addLike(part, to);
  }
  return part;
}

/// Returns whether a whole value becomes a partial sum.
bool ReshardLowering::isShare(ReshardOp op) const {
  return table.of(op.getResult()).sums & ~table.of(op.getX()).sums & batchAxes;
}

Value ReshardLowering::lower(ReshardOp op) {
  // With single rows the batch is not split: training has all of them.
  if (axes.hasLocal() && training.isRead(*op->use_begin()))
    return op.getX();
  if (isShare(op))
    return divide(op);
  Sharding rows = table.of(op.getResult()).onlyCuts(batchAxes);
  if (table.of(op.getX()).onlyCuts(batchAxes) != rows)
    return getCut(op.getX(), rows);
  return complete(op.getX());
}

/// Returns whether a value is complete, or the prologue can complete it.
bool ReshardLowering::canComplete(Value value) {
  value = throughReshards(value);
  const Sharding &sharding = table.of(value);
  return !(sharding.getCutAxes() & batchAxes) &&
         (!(sharding.sums & batchAxes) ||
          (isPrologueSum(value) && followsFromInputs(value, inputs)));
}

/// Returns whether getCut() has a value with its rows cut.
bool ReshardLowering::canCut(Value value, const Sharding &rows) {
  if (table.of(value).onlyCuts(batchAxes) == rows)
    return true;
  if (Value source = throughReshards(value); source != value)
    return canCut(source, rows);
  auto reshard = value.getDefiningOp<ReshardOp>();
  if (reshard && !met.contains(value))
    return canCut(reshard.getX(), rows);
  std::optional<SmallVector<Cuts>> loops = findPartLoops(value, rows, axes);
  if (!loops || !canComplete(value))
    return false;
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  IterationSpace space = op.getIterationSpace();
  return llvm::all_of(
      llvm::zip(op->getOperands(), space.operands), [&](auto entry) {
        auto [operand, tensor] = entry;
        Sharding needed = projectToTensor(space, tensor, *loops);
        return needed.getCutAxes() ? canCut(operand, needed)
                                   : canComplete(operand);
      });
}

/// Returns whether ranks must exchange a value inside a task, or take their
/// part of it there. The propagation lets no other axes of the batch need that.
bool ReshardLowering::needsTask(ReshardOp op) {
  if (!canRowsMeet(axes))
    return false;
  const Sharding &from = table.of(op.getX()), &to = table.of(op.getResult());
  Sharding rows = to.onlyCuts(batchAxes);
  bool changesModel = from.onlyCuts(~batchAxes) != to.onlyCuts(~batchAxes) ||
                      ((from.sums ^ to.sums) & ~batchAxes);
  if (changesModel || from.maxima)
    return true;
  if (from.onlyCuts(batchAxes) != rows)
    return !rows.getCutAxes() || (to.sums & batchAxes) ||
           !canCut(op.getX(), rows);
  // The prologue completes a sum over all axes.
  return !isShare(op) && ((to.sums & batchAxes) || !canComplete(op.getX()));
}

void ReshardLowering::run() {
  SmallVector<ReshardOp> reshards;
  entry.walk([&](ReshardOp op) {
    if (!isOverBatch(op))
      return;
    if (needsTask(op))
      met.insert(op);
    else
      reshards.push_back(op);
  });
  // What is computed again for a part of the rows is made of whole values, and
  // not of their shares.
  for (bool divides : {false, true})
    for (ReshardOp op : reshards)
      if (isShare(op) == divides)
        op.getResult().replaceAllUsesWith(lower(op));
  for (ReshardOp op : llvm::reverse(reshards))
    op.erase();
}

void pp::lowerReshards(func::FuncOp entry, ShardingTable &table,
                       bool evaluatesRows) {
  ReshardLowering(entry, table, evaluatesRows).run();
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

namespace {

/// Makes each count of targets known before the first forward, whatever the
/// model does with it and wherever it is: a batch in which a count is zero is
/// skipped.
class CountCompletion {
public:
  CountCompletion(func::FuncOp entry, const ShardingTable &table)
      : entry(entry), table(table), batchAxes(table.axes.getBatchAxes()) {}

  /// Where nothing is cut over the batch, counts are no partial sums. Their
  /// readers read what the prologue computes all the same.
  void readCompleted();
  void addUnread();

private:
  Value complete(Value count);
  bool isFromInputs(Value count) {
    return findCount(count) && followsFromInputs(count, known);
  }
  /// Of targets that are not cut over the batch, constants for example, each
  /// rank counts all.
  bool isPartial(CountOp count) const {
    return !batchAxes || (table.of(count.getResult()).sums & batchAxes);
  }

  func::FuncOp entry;
  const ShardingTable &table;
  AxisSet batchAxes;
  DenseMap<Value, bool> known;
  DenseMap<Value, Value> completed;
};

} // namespace

Value CountCompletion::complete(Value count) {
  Value &sum = completed[count];
  if (sum)
    return sum;
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointAfterValue(count);
  auto op = BatchSumOp::create(builder, count.getLoc(), count, /*count=*/true);
  if (count.getDefiningOp()->hasAttr(kShardingsAttr))
    op->setAttr(kShardingsAttr,
                builder.getArrayAttr(ShardingAttr::getWhole(
                    entry.getContext(), getShape(count).size())));
  return sum = op;
}

void CountCompletion::readCompleted() {
  entry.getBody().walk([&](IterationSpaceOpInterface op) {
    if (isa<CopyOp>(*op))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isFromInputs(operand.get()))
        operand.set(complete(operand.get()));
  });
}

void CountCompletion::addUnread() {
  std::set<std::tuple<const void *, int64_t, const void *>> complete;
  auto isNew = [&](CountOp count) {
    return complete
        .insert({throughCopies(count.getTargets()).getAsOpaquePointer(),
                 count.getIgnoreIndex(), count.getType().getAsOpaquePointer()})
        .second;
  };
  entry.walk([&](BatchSumOp sum) {
    if (sum.getCount())
      (void)isNew(findCount(sum.getPartial()));
  });
  entry.walk([&](CountOp count) {
    if (isFromInputs(count) && isPartial(count) && isNew(count))
      (void)this->complete(count);
  });
}

namespace {

struct LowerReshards : pp::impl::LowerReshardsBase<LowerReshards> {
  void runOnOperation() override {
    auto &known = getAnalysis<KnownShardings>();
    FailureOr<func::FuncOp> entry = known.readEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    ShardingTable &table = *known.table;
    if (!table.axes.empty())
      lowerReshards(*entry, table, plan->getEvaluatesRows());
    CountCompletion counts(*entry, table);
    if (!table.axes.getBatchAxes())
      counts.readCompleted();
    counts.addUnread();
  }
};

} // namespace
