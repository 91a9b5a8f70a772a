//===- BlockRows.cpp - Computes wide intermediate values in blocks --------===//
//
// Before: tasks on local shapes, some of whose intermediate values take more
// than the budget: the logits of a language model, and their gradient. After:
// the ops that make and read such a value run on one block of its rows at a
// time, so that only a block of it exists at a time.
//
//   %z = pp.matmul %h, %w                  %h0 = pp.slice %h [0, 0]
//   %g = pp.relu %z                        %z0 = pp.matmul %h0, %w
//   %y = pp.matmul %g, %v                  %g0 = pp.relu %z0
//   %d = pp.matmul %g, %x {transpose_lhs}  %y0 = pp.matmul %g0, %v
//                                          %d0 = pp.matmul %g0, %x0 {…}
//                                          … the same for block 1 …
//                                          %d = pp.add %d0, %d1
//                                          %y = pp.concat %y0, %y1 {dim = 0}
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/Passes.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Sharding/BatchSplit.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BLOCKROWS
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Each block has its own ops, and may be divided into blocks again; the later
/// passes take some ten seconds for this number of ops.
static constexpr int64_t kMostOps = 16384;

/// Returns the rows of a block, at most `most`; the last block may have fewer.
/// Blocks are equal if that makes less than twice the fewest blocks. (More than
/// kMostOps are refused.) Otherwise rows are a multiple of `multiple` if that
/// needs no more blocks: accesses of a block then begin at an aligned address.
static int64_t chooseBlock(int64_t rows, int64_t most, int64_t multiple) {
  int64_t fewest = llvm::divideCeil(rows, most);
  for (int64_t count = fewest; count < std::min(2 * fewest, kMostOps); ++count)
    if (rows % count == 0)
      return rows / count;
  int64_t block = llvm::divideCeil(rows, fewest);
  int64_t rounded = llvm::alignTo(block, multiple);
  return rounded <= most ? rounded : block;
}

namespace {

/// A block of rows: [begin, begin + size).
struct RowBlock {
  int64_t begin, size;
};

/// Ops of a task that are connected by wide values, all tiled along one axis.
class RowGroup {
public:
  RowGroup(Block &body, int64_t budget) : body(body), budget(budget) {}

  /// Collects the group around the wide result of `seed`. Returns false if one
  /// of its ops can't be computed block by block.
  bool grow(Operation *seed);
  /// Returns whether this group, as far as it was collected, is also that of
  /// this matmul's result.
  bool isAround(Operation *seed) const;
  int64_t countBlocks() const { return llvm::divideCeil(rows, chooseSize()); }
  const llvm::SetVector<Operation *> &getOps() const { return ops; }
  /// Replaces the group by its blocks. Emits an error and fails if a clone does
  /// not compute its op for the rows of a block.
  LogicalResult split();

private:
  bool isWide(Value value) const { return getBytes(value) > widthOfGroup; }
  int64_t getWidthAround(Value result) const;
  bool add(Value value, BatchState state);
  bool visit(Operation *op);
  std::optional<BatchLoop> findCut(IterationSpaceOpInterface op,
                                   const IterationSpace &space) const;
  bool addResults(Operation *op, const IterationSpace &space, BatchLoop cut);
  bool addOperands(Operation *op, const IterationSpace &space, BatchLoop cut);
  bool gather();
  bool isConsistent() const;
  int64_t chooseSize() const;
  LogicalResult computeBlock(Operation *op, RowBlock block);
  FailureOr<Operation *> clone(Operation *op, ValueRange operands,
                               ArrayRef<BatchState> states, BatchLoop cut,
                               RowBlock block);
  FailureOr<Value> getOperand(Value value, BatchState state, RowBlock block);
  FailureOr<Value> cutOut(Value value, BatchState state, RowBlock block);
  void replaceResults();
  RankedTensorType getTypeOf(Value value, BatchState state,
                             RowBlock block) const;

  Block &body;
  int64_t budget, rows = 0;
  /// Values of more bytes belong to the group. Values much narrower than its
  /// seed do not, even over the budget: a model's activations would connect all
  /// of it.
  int64_t widthOfGroup = 0;
  /// States of the wide values, and of the results that follow from them row by
  /// row.
  llvm::MapVector<Value, BatchState> states;
  llvm::SetVector<Operation *> ops;
  DenseMap<Operation *, BatchLoop> cuts;
  SmallVector<Value> worklist;
  /// During the split: the current block's copy of each value, and the copies
  /// made of each result.
  std::unique_ptr<OpBuilder> builder;
  IRMapping map;
  DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>, Value> cutOuts;
  DenseMap<Value, SmallVector<Value>> parts;
};

/// Records how a wide value is tiled. Returns false if it is already tiled
/// differently.
bool RowGroup::add(Value value, BatchState state) {
  auto [it, isNew] = states.insert({value, state});
  if (isNew)
    worklist.push_back(value);
  return it->second == state;
}

/// Returns the loop along which the wide values that `op` reads and makes are
/// tiled.
std::optional<BatchLoop> RowGroup::findCut(IterationSpaceOpInterface op,
                                           const IterationSpace &space) const {
  std::optional<BatchLoop> cut;
  auto meet = [&](Value value, const TensorLoops &loops) {
    auto known = states.find(value);
    if (known == states.end())
      return true;
    std::optional<BatchLoop> found =
        getBatchLoop(space, loops, known->second, rows);
    if (!found ||
        (cut && (cut->loop != found->loop || cut->unit != found->unit)))
      return false;
    cut = found;
    return true;
  };
  for (auto [value, loops] : llvm::zip(op->getOperands(), space.operands))
    if (!meet(value, loops))
      return std::nullopt;
  for (auto [value, loops] : llvm::zip(op->getResults(), space.results))
    if (!meet(value, loops))
      return std::nullopt;
  return cut;
}

/// Results must be rows (wide ones join the group) or sums over the rows.
bool RowGroup::addResults(Operation *op, const IterationSpace &space,
                          BatchLoop cut) {
  bool isSum = space.loops[cut.loop].kind == LoopKind::Sum;
  if (!isSum && dependsOnPosition(cast<IterationSpaceOpInterface>(op), cut))
    return false;
  for (auto [result, loops] : llvm::zip(op->getResults(), space.results)) {
    std::optional<BatchState> state = getStateFor(space, loops, cut);
    if (!state || (state->kind == BatchState::Whole) != isSum)
      return false;
    if (!isSum && !add(result, *state))
      return false;
  }
  return true;
}

/// Wide operands that the task computes join the group; a block of rows of
/// other operands can be read.
bool RowGroup::addOperands(Operation *op, const IterationSpace &space,
                           BatchLoop cut) {
  for (auto [operand, loops] : llvm::zip(op->getOperands(), space.operands)) {
    std::optional<BatchState> state = getStateFor(space, loops, cut);
    if (!state)
      return false;
    Operation *def = operand.getDefiningOp();
    if (state->kind == BatchState::Split && def && isWide(operand) &&
        !def->hasTrait<OpTrait::ConstantLike>() && !add(operand, *state))
      return false;
  }
  return true;
}

bool RowGroup::visit(Operation *op) {
  if (ops.contains(op))
    return true;
  auto interface = dyn_cast_or_null<IterationSpaceOpInterface>(op);
  if (!interface)
    return false;
  IterationSpace space = getBatchSpace(interface);
  std::optional<BatchLoop> cut = findCut(interface, space);
  if (!cut)
    return false;
  LoopKind kind = space.loops[cut->loop].kind;
  if (kind != LoopKind::Parallel && kind != LoopKind::Sum)
    return false;
  ops.insert(op);
  cuts[op] = *cut;
  return addResults(op, space, *cut) && addOperands(op, space, *cut);
}

int64_t RowGroup::getWidthAround(Value result) const {
  return std::max(budget, getBytes(result) / 2);
}

/// Returns the outermost dimension that has rows; the rank if there is none.
static int64_t getRowDim(ArrayRef<int64_t> shape) {
  return llvm::find_if(shape, [](int64_t size) { return size != 1; }) -
         shape.begin();
}

bool RowGroup::isAround(Operation *seed) const {
  Value result = seed->getResult(0);
  auto known = states.find(result);
  return known != states.end() && widthOfGroup == getWidthAround(result) &&
         known->second == BatchState::split(getRowDim(getShape(result)), 1);
}

bool RowGroup::grow(Operation *seed) {
  Value result = seed->getResult(0);
  auto shape = getShape(result);
  int64_t dim = getRowDim(shape);
  if (dim == int64_t(shape.size()))
    return false;
  rows = shape[dim];
  widthOfGroup = getWidthAround(result);
  add(result, BatchState::split(dim, 1));
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!visit(value.getDefiningOp()))
      return false;
    // A narrow value is concatenated for its readers.
    if (isWide(value) && !llvm::all_of(value.getUsers(), [&](Operation *user) {
          return visit(user);
        }))
      return false;
  }
  return isConsistent() && gather();
}

/// Returns whether the group's ops read each other's values as they are tiled,
/// and none of them is a sum over the rows.
bool RowGroup::isConsistent() const {
  return llvm::all_of(ops, [&](Operation *op) {
    auto interface = cast<IterationSpaceOpInterface>(op);
    std::optional<BatchLoop> cut = findCut(interface, getBatchSpace(interface));
    return cut && cut->loop == cuts.lookup(op).loop &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return !ops.contains(operand.getDefiningOp()) ||
                    states.contains(operand);
           });
  });
}

/// Makes the group's ops contiguous, in their order. Ops in between move after
/// them if they read their results. Returns false if an op of the group reads
/// such an op in turn.
bool RowGroup::gather() {
  auto sorted = llvm::to_vector(ops);
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ops.clear();
  ops.insert_range(sorted);
  DenseSet<Operation *> readsResults;
  SmallVector<Operation *> later;
  for (Operation &op : llvm::make_range(ops.front()->getIterator(),
                                        std::next(ops.back()->getIterator()))) {
    bool isBehind = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return def && (readsResults.contains(def) ||
                     (ops.contains(def) && !ops.contains(&op)));
    });
    if (!isBehind)
      continue;
    if (ops.contains(&op))
      return false;
    readsResults.insert(&op);
    later.push_back(&op);
  }
  Operation *last = ops.back();
  for (Operation *op : later) {
    op->moveAfter(last);
    last = op;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

RankedTensorType RowGroup::getTypeOf(Value value, BatchState state,
                                     RowBlock block) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (state.kind == BatchState::Split)
    shape[state.dim] = block.size * state.unit;
  return type.clone(shape);
}

/// Clones an op for the operands of a block, and checks the clone against the
/// op's iteration space.
FailureOr<Operation *> RowGroup::clone(Operation *op, ValueRange operands,
                                       ArrayRef<BatchState> states,
                                       BatchLoop cut, RowBlock block) {
  Operation *made = builder->clone(*op);
  made->setOperands(operands);
  for (auto [result, part, state] :
       llvm::zip(op->getResults(), made->getResults(), states))
    part.setType(getTypeOf(result, state, block));
  if (auto constant = dyn_cast<ConstantOp>(made))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(constant.getType()));
  if (failed(verifyPart(cast<IterationSpaceOpInterface>(op), made, cut,
                        block.size)))
    return failure();
  return made;
}

/// Returns a value of the block, or the block's part of an outside value.
FailureOr<Value> RowGroup::getOperand(Value value, BatchState state,
                                      RowBlock block) {
  if (ops.contains(value.getDefiningOp()))
    return map.lookup(value);
  if (state.kind != BatchState::Split)
    return value;
  std::pair<Value, std::pair<int64_t, int64_t>> key{value,
                                                    {state.dim, state.unit}};
  if (Value known = cutOuts.lookup(key))
    return known;
  FailureOr<Value> made = cutOut(value, state, block);
  if (succeeded(made))
    cutOuts[key] = *made;
  return made;
}

/// Returns whether no operand itself has rows.
static bool isUniform(const IterationComputation &computation) {
  return llvm::all_of(
      computation.space.operands, [&](const TensorLoops &loops) {
        std::optional<BatchState> needed =
            getStateFor(computation.space, loops, computation.cut);
        return needed && needed->kind == BatchState::Whole;
      });
}

/// Returns the rows of a block: recomputed if that is cheap and no operand
/// itself has rows, else sliced.
FailureOr<Value> RowGroup::cutOut(Value value, BatchState state,
                                  RowBlock block) {
  std::optional<IterationComputation> found =
      findIterationComputation(value, state, rows);
  if (found && !isTable(found->op) && isUniform(*found) && isCheap(found->op) &&
      !dependsOnPosition(found->op, found->cut)) {
    FailureOr<Operation *> made =
        clone(found->op, found->op->getOperands(), state, found->cut, block);
    if (failed(made))
      return failure();
    return (*made)->getResult(0);
  }
  RankedTensorType type = getTypeOf(value, state, block);
  SmallVector<int64_t> offsets(type.getRank(), 0);
  offsets[state.dim] = block.begin * state.unit;
  return SliceOp::create(*builder, value.getLoc(), type, value, offsets)
      .getResult();
}

/// Computes the rows of a block; accumulates sums over the rows.
LogicalResult RowGroup::computeBlock(Operation *op, RowBlock block) {
  IterationSpace space = getBatchSpace(cast<IterationSpaceOpInterface>(op));
  BatchLoop cut = cuts.lookup(op);
  SmallVector<Value> operands;
  for (auto [operand, loops] : llvm::zip(op->getOperands(), space.operands)) {
    FailureOr<Value> part =
        getOperand(operand, *getStateFor(space, loops, cut), block);
    if (failed(part))
      return failure();
    operands.push_back(*part);
  }
  auto stateOf = [&](Value result) { return states.lookup(result); };
  SmallVector<BatchState> resultStates =
      llvm::map_to_vector(ValueRange(op->getResults()), stateOf);
  FailureOr<Operation *> made = clone(op, operands, resultStates, cut, block);
  if (failed(made))
    return failure();
  for (auto [result, part, state] :
       llvm::zip(op->getResults(), (*made)->getResults(), resultStates)) {
    map.map(result, part);
    SmallVector<Value> &known = parts[result];
    if (state.kind == BatchState::Split || known.empty())
      known.push_back(part);
    else
      known.front() =
          AddOp::create(*builder, op->getLoc(), known.front(), part);
  }
  return success();
}

/// Rows are concatenated; sums are complete.
void RowGroup::replaceResults() {
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      BatchState state = states.lookup(result);
      bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !ops.contains(user);
      });
      if (!isRead)
        continue;
      Value whole = parts[result].front();
      if (state.kind == BatchState::Split)
        whole = ConcatOp::create(*builder, result.getLoc(), parts[result],
                                 state.dim);
      result.replaceUsesWithIf(
          whole, [&](OpOperand &use) { return !ops.contains(use.getOwner()); });
    }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

/// Returns the rows of a block; the last may have fewer.
int64_t RowGroup::chooseSize() const {
  int64_t widest = 0;
  for (auto &[value, state] : states)
    widest = std::max(widest, getBytes(value));
  // All values of the group have the same number of rows.
  return chooseBlock(
      rows, std::max<int64_t>(1, budget / (widest / rows)),
      getThreshold(body.getParentOp(), Threshold::BlockRowMultiple));
}

LogicalResult RowGroup::split() {
  int64_t size = chooseSize();
  builder = std::make_unique<OpBuilder>(body.getParentOp()->getContext());
  builder->setInsertionPointAfter(ops.back());
  for (int64_t begin = 0; begin < rows; begin += size) {
    map.clear();
    cutOuts.clear();
    for (Operation *op : ops)
      if (failed(computeBlock(op, {begin, std::min(size, rows - begin)})))
        return failure();
  }
  replaceResults();
  return success();
}

struct BlockRows : pp::impl::BlockRowsBase<BlockRows> {
  using BlockRowsBase::BlockRowsBase;

  void runOnOperation() override {
    for (auto task : getOperation().getOps<TaskOp>())
      for (bool isSplit = true; isSplit;) {
        FailureOr<bool> split = splitOne(task.getBody().front());
        if (failed(split))
          return signalPassFailure();
        isSplit = *split;
      }
  }

private:
  /// Splits the widest group that can be split; its blocks may be split again.
  FailureOr<bool> splitOne(Block &body);

  int64_t opsInBlocks = 0; ///< in all tasks
  /// Ops that are not wide matmuls, and matmuls around which no group can be
  /// split; splitting other groups does not change that.
  DenseSet<Operation *> settled;
};

FailureOr<bool> BlockRows::splitOne(Block &body) {
  SmallVector<std::pair<int64_t, Operation *>> seeds; ///< with their bytes
  for (Operation &op : body) {
    if (op.getNumResults() != 1 || settled.contains(&op))
      continue;
    int64_t bytes = getBytes(op.getResult(0));
    if (bytes > budget && isMatmul(&op))
      seeds.push_back({bytes, &op});
    else
      settled.insert(&op);
  }
  llvm::stable_sort(seeds, [](auto &a, auto &b) { return a.first > b.first; });
  for (auto [bytes, seed] : seeds) {
    if (settled.contains(seed))
      continue;
    RowGroup group(body, budget);
    if (!group.grow(seed)) {
      settled.insert(seed);
      for (auto [otherBytes, other] : seeds)
        if (group.isAround(other))
          settled.insert(other);
      continue;
    }
    int64_t blocks = group.countBlocks();
    opsInBlocks += blocks * int64_t(group.getOps().size());
    if (opsInBlocks > kMostOps)
      return group.getOps().front()->emitError("would be computed in ")
             << blocks << " blocks of rows, which makes " << opsInBlocks
             << " ops in blocks, more than " << kMostOps
             << "; give a block more bytes (--block-bytes) or the model fewer "
                "rows at a time (--microbatches)";
    for (Operation *op : group.getOps())
      settled.erase(op);
    if (failed(group.split()))
      return failure();
    return true;
  }
  return false;
}

} // namespace
