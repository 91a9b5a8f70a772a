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

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/Passes.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

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

/// Ops of a task that are connected by wide values, all cut along one axis.
class RowGroup {
public:
  RowGroup(Block &body, int64_t budget) : body(body), budget(budget) {}

  /// Collects the group around the wide result of `seed`. Returns false if one
  /// of its ops can't be computed block by block.
  bool grow(Operation *seed);
  /// Returns whether this group, as far as it was collected, is also that of
  /// this matmul's result.
  bool isAround(Operation *seed) const;
  int64_t countBlocks() const {
    return llvm::divideCeil(axis->getIterations(), chooseSize());
  }
  const llvm::SetVector<Operation *> &getOps() const { return ops; }
  /// Replaces the group by its blocks. Emits an error and fails if a clone does
  /// not compute its op for the rows of a block.
  LogicalResult split();

private:
  bool isWide(Value value) const { return getBytes(value) > widthOfGroup; }
  int64_t getWidthAround(Value result) const;
  bool add(Value value, unsigned dim);
  bool visit(Operation *op);
  std::optional<CutOp> findCut(Operation *op) const;
  bool addResults(const CutOp &cut);
  bool addOperands(const CutOp &cut);
  bool gather();
  bool isConsistent() const;
  int64_t chooseSize() const;
  LogicalResult computeBlock(const CutOp &cut, RowBlock block);
  FailureOr<Value> getOperand(Value value, AxisDim dim, RowBlock block);
  FailureOr<Value> cutOut(Value value, unsigned dim, RowBlock block);
  void replaceResults();
  AxisDim dimOf(Value value) const;

  Block &body;
  int64_t budget;
  /// The rows of the seed's result.
  std::optional<IterationAxis> axis;
  /// Values of more bytes belong to the group. Values much narrower than its
  /// seed do not, even over the budget: a model's activations would connect all
  /// of it.
  int64_t widthOfGroup = 0;
  /// The dimensions with the rows: of the wide values, and of the results that
  /// follow from them row by row.
  llvm::MapVector<Value, unsigned> dims;
  llvm::SetVector<Operation *> ops;
  DenseMap<Operation *, CutOp> cuts;
  SmallVector<Value> worklist;
  /// During the split: the current block's copy of each value, and the copies
  /// made of each result.
  std::unique_ptr<OpBuilder> builder;
  IRMapping map;
  DenseMap<std::pair<Value, unsigned>, Value> cutOuts;
  DenseMap<Value, SmallVector<Value>> parts;
};

/// Returns the dimension with the rows of a value of the group; none for sums
/// over them and for values outside.
AxisDim RowGroup::dimOf(Value value) const {
  const auto *known = dims.find(value);
  return known == dims.end() ? AxisDim() : known->second;
}

/// Records along which dimension a wide value is cut. Returns false if it is
/// already cut along another.
bool RowGroup::add(Value value, unsigned dim) {
  auto [it, isNew] = dims.insert({value, dim});
  if (isNew)
    worklist.push_back(value);
  return it->second == dim;
}

/// Returns how `op` is cut along the wide values that it reads and makes.
std::optional<CutOp> RowGroup::findCut(Operation *op) const {
  auto interface = dyn_cast<IterationSpaceOpInterface>(op);
  if (!interface)
    return std::nullopt;
  IterationSpace space = interface.getIterationSpace();
  std::optional<unsigned> cut;
  auto meet = [&](Value value, const TensorLoops &tensor) {
    AxisDim dim = dimOf(value);
    if (!dim)
      return true;
    std::optional<unsigned> loop = axis->findLoop(space, tensor[*dim]);
    if (!loop || (cut && cut != loop))
      return false;
    cut = loop;
    return true;
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), space.operands))
    if (!meet(value, tensor))
      return std::nullopt;
  for (auto [value, tensor] : llvm::zip(op->getResults(), space.results))
    if (!meet(value, tensor))
      return std::nullopt;
  if (!cut)
    return std::nullopt;
  return CutOp{interface, std::move(space), *cut};
}

/// Results must be rows (wide ones join the group) or sums over the rows.
bool RowGroup::addResults(const CutOp &cut) {
  bool isSum = cut.getKind() == LoopKind::Sum;
  if (!isSum && axis->dependsOnPosition(cut))
    return false;
  for (auto [result, tensor] :
       llvm::zip(cut.op->getResults(), cut.space.results)) {
    FailureOr<AxisDim> dim = cut.findDim(tensor);
    if (failed(dim) || dim->has_value() == isSum)
      return false;
    if (!isSum && !add(result, **dim))
      return false;
  }
  return true;
}

/// Wide operands that the task computes join the group; a block of rows of
/// other operands can be read.
bool RowGroup::addOperands(const CutOp &cut) {
  for (auto [operand, tensor] :
       llvm::zip(cut.op->getOperands(), cut.space.operands)) {
    FailureOr<AxisDim> dim = cut.findDim(tensor);
    if (failed(dim))
      return false;
    Operation *def = operand.getDefiningOp();
    if (*dim && def && isWide(operand) &&
        !def->hasTrait<OpTrait::ConstantLike>() && !add(operand, **dim))
      return false;
  }
  return true;
}

bool RowGroup::visit(Operation *op) {
  if (ops.contains(op))
    return true;
  std::optional<CutOp> cut = op ? findCut(op) : std::nullopt;
  if (!cut ||
      (cut->getKind() != LoopKind::Parallel && cut->getKind() != LoopKind::Sum))
    return false;
  ops.insert(op);
  cuts[op] = *cut;
  return addResults(*cut) && addOperands(*cut);
}

int64_t RowGroup::getWidthAround(Value result) const {
  return std::max(budget, getBytes(result) / 2);
}

/// Returns the outermost dimension that has rows; the rank if there is none.
static unsigned getRowDim(ArrayRef<int64_t> shape) {
  return llvm::find_if(shape, [](int64_t size) { return size != 1; }) -
         shape.begin();
}

bool RowGroup::isAround(Operation *seed) const {
  Value result = seed->getResult(0);
  AxisDim dim = dimOf(result);
  return dim == getRowDim(getShape(result)) &&
         axis->getUnit(result, *dim) == 1 &&
         widthOfGroup == getWidthAround(result);
}

bool RowGroup::grow(Operation *seed) {
  Value result = seed->getResult(0);
  auto shape = getShape(result);
  unsigned dim = getRowDim(shape);
  if (dim == shape.size())
    return false;
  axis.emplace(shape[dim]);
  widthOfGroup = getWidthAround(result);
  add(result, dim);
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

/// Returns whether the group's ops read each other's values as they are cut,
/// and none of them is a sum over the rows.
bool RowGroup::isConsistent() const {
  return llvm::all_of(ops, [&](Operation *op) {
    std::optional<CutOp> cut = findCut(op);
    return cut && cut->loop == cuts.find(op)->second.loop &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return !ops.contains(operand.getDefiningOp()) ||
                    dims.contains(operand);
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

/// Returns a value of the block, or the block's part of an outside value.
FailureOr<Value> RowGroup::getOperand(Value value, AxisDim dim,
                                      RowBlock block) {
  if (ops.contains(value.getDefiningOp()))
    return map.lookup(value);
  if (!dim)
    return value;
  if (Value known = cutOuts.lookup({value, *dim}))
    return known;
  FailureOr<Value> made = cutOut(value, *dim, block);
  if (succeeded(made))
    cutOuts[{value, *dim}] = *made;
  return made;
}

/// Returns whether no operand itself has rows.
static bool isUniform(const CutOp &cut) {
  return llvm::all_of(cut.space.operands, [&](const TensorLoops &tensor) {
    FailureOr<AxisDim> dim = cut.findDim(tensor);
    return succeeded(dim) && !dim->has_value();
  });
}

/// Returns the rows of a block: recomputed if that is cheap and no operand
/// itself has rows, else sliced.
FailureOr<Value> RowGroup::cutOut(Value value, unsigned dim, RowBlock block) {
  std::optional<CutOp> found = axis->findComputation(value, dim);
  if (found && isUniform(*found) && isCheap(found->op) &&
      !axis->dependsOnPosition(*found)) {
    FailureOr<Operation *> made =
        axis->clonePart(*builder, *found, found->op->getOperands(), block.size);
    if (failed(made))
      return failure();
    return (*made)->getResult(0);
  }
  RankedTensorType type = axis->getPartType(value, dim, block.size);
  SmallVector<int64_t> offsets(type.getRank(), 0);
  offsets[dim] = block.begin * axis->getUnit(value, dim);
  return SliceOp::create(*builder, value.getLoc(), type, value, offsets)
      .getResult();
}

/// Computes the rows of a block; accumulates sums over the rows.
LogicalResult RowGroup::computeBlock(const CutOp &cut, RowBlock block) {
  SmallVector<Value> operands;
  for (auto [operand, tensor] :
       llvm::zip(cut.op->getOperands(), cut.space.operands)) {
    FailureOr<Value> part = getOperand(operand, *cut.findDim(tensor), block);
    if (failed(part))
      return failure();
    operands.push_back(*part);
  }
  FailureOr<Operation *> made =
      axis->clonePart(*builder, cut, operands, block.size);
  if (failed(made))
    return failure();
  for (auto [result, part] :
       llvm::zip(cut.op->getResults(), (*made)->getResults())) {
    map.map(result, part);
    SmallVector<Value> &known = parts[result];
    if (dimOf(result) || known.empty())
      known.push_back(part);
    else
      known.front() =
          AddOp::create(*builder, cut.op->getLoc(), known.front(), part);
  }
  return success();
}

/// Rows are concatenated; sums are complete.
void RowGroup::replaceResults() {
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !ops.contains(user);
      });
      if (!isRead)
        continue;
      Value whole = parts[result].front();
      if (AxisDim dim = dimOf(result))
        whole =
            ConcatOp::create(*builder, result.getLoc(), parts[result], *dim);
      result.replaceUsesWithIf(
          whole, [&](OpOperand &use) { return !ops.contains(use.getOwner()); });
    }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

/// Returns the rows of a block; the last may have fewer.
int64_t RowGroup::chooseSize() const {
  int64_t widest = 0, rows = axis->getIterations();
  for (auto &[value, dim] : dims)
    widest = std::max(widest, getBytes(value));
  // All values of the group have the same number of rows.
  return chooseBlock(
      rows, std::max<int64_t>(1, budget / (widest / rows)),
      getThreshold(body.getParentOp(), Threshold::BlockRowMultiple));
}

LogicalResult RowGroup::split() {
  int64_t size = chooseSize(), rows = axis->getIterations();
  builder = std::make_unique<OpBuilder>(body.getParentOp()->getContext());
  builder->setInsertionPointAfter(ops.back());
  for (int64_t begin = 0; begin < rows; begin += size) {
    map.clear();
    cutOuts.clear();
    for (Operation *op : ops)
      if (failed(computeBlock(cuts.find(op)->second,
                              {begin, std::min(size, rows - begin)})))
        return failure();
  }
  replaceResults();
  return success();
}

struct BlockRows : pp::impl::BlockRowsBase<BlockRows> {
  using BlockRowsBase::BlockRowsBase;

  void runOnOperation() override {
    opsInBlocks = 0;
    settled.clear();
    for (bool isSplit = true; isSplit;) {
      FailureOr<bool> split = splitOne(getOperation().getBody().front());
      if (failed(split))
        return signalPassFailure();
      isSplit = *split;
    }
  }

private:
  /// Splits the widest group that can be split; its blocks may be split again.
  FailureOr<bool> splitOne(Block &body);

  int64_t opsInBlocks;
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
