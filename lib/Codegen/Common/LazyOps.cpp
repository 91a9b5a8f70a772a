//===- LazyOps.cpp - Ops that have no buffer of their own -----------------===//

#include "Fusion.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// Returns the flat value that `value` is a range of, and its first element.
static std::pair<Value, int64_t> getRange(Value value) {
  value = skipReshapes(value);
  auto view = value.getDefiningOp<ViewOpInterface>();
  std::optional<int64_t> offset;
  if (view)
    offset = getContiguousOffset(view);
  return offset ? std::make_pair(view->getOperand(0), *offset)
                : std::make_pair(value, int64_t(0));
}

/// Returns whether one op reads a value, not counting the pp.join that puts
/// together what is accumulated in all of it.
static bool hasOneReader(Value value) {
  return llvm::count_if(value.getUses(), [&](OpOperand &use) {
           auto join = dyn_cast<JoinOp>(use.getOwner());
           return !join || join.getBase() != value;
         }) == 1;
}

/// Finds chains of accumulations, in which all other values have one use, from
/// a tied argument to the result that it is tied to, or from a range of zeros
/// to the pp.join that puts it back there. Zeros that nothing else reads are
/// the memory of what is added to them.
void TaskFusion::findInPlaceAccumulations() {
  auto findChain = [&](Value end, llvm::function_ref<bool(Value)> isRoot) {
    SmallVector<Operation *> chain;
    Value value = end;
    while (auto op = value.getDefiningOp<AccumulateOp>()) {
      chain.push_back(op);
      value = op.getAccumulator();
      if (!hasOneReader(value))
        break;
    }
    if (hasOneReader(value) && isRoot(value))
      inPlace.insert_range(chain);
  };
  Operation *ret = task.getBody().front().getTerminator();
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (std::optional<unsigned> tied = task.getTiedArgument(i))
      findChain(ret->getOperand(i), [&](Value value) {
        return value == task.getBody().getArgument(*tied);
      });
  for (auto op : task.getBody().front().getOps<AccumulateOp>()) {
    Value zeros = op.getAccumulator();
    if (isa_and_nonnull<ZerosOp>(zeros.getDefiningOp()) && zeros.hasOneUse())
      inPlace.insert(op);
  }
  for (auto join : task.getBody().front().getOps<JoinOp>())
    for (auto [part, first] : llvm::zip(join.getParts(), join.getOffsets()))
      findChain(part, [&, offset = first](Value value) {
        return getRange(value) ==
               std::make_pair(Value(join.getBase()), int64_t(offset));
      });
}

//===----------------------------------------------------------------------===//
// Memory views
//===----------------------------------------------------------------------===//

/// Returns whether a value must be in memory because the task returns or
/// accumulates it.
static bool hasUserInMemory(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    if (isReshape(user))
      return hasUserInMemory(user);
    return isa<ReturnOp>(user);
  });
}

/// Returns whether a buffer may begin at this element of another.
static bool isAligned(int64_t offset, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return offset * getElementBytes(element) % kBufferAlignment == 0;
}

/// Returns whether an operand of a concatenation can be computed in place:
/// nothing else determines its buffer.
bool TaskFusion::isPart(OpOperand &input, DenseSet<Value> &taken) const {
  Value value = skipReshapes(input.get());
  Operation *def = value.getDefiningOp();
  bool isOfArgument = isMemoryView(def) && !isa<ConcatOp>(def);
  if (!def || isOfArgument || hasUserInMemory(def))
    return false;
  auto accumulate = dyn_cast<AccumulateOp>(def);
  return !(accumulate && isInPlace(accumulate)) && taken.insert(value).second;
}

/// Finds contiguous parts of arguments and of other memory, and concatenations
/// of contiguous operands.
void TaskFusion::findMemoryViews() {
  DenseSet<Value> taken; // parts of a concatenation
  for (Operation &op : task.getBody().front()) {
    if (isReshape(&op))
      continue;
    if (auto view = dyn_cast<ViewOpInterface>(op)) {
      std::optional<int64_t> offset = getContiguousOffset(view);
      Operation *source = skipReshapes(view->getOperand(0)).getDefiningOp();
      bool isOfMemory = !source || hasMemoryOfItsOwn(source);
      if (offset && isAligned(*offset, view->getResult(0)) && isOfMemory &&
          !hasUserInMemory(view))
        memoryViews.insert(view);
    } else if (isa<JoinOp>(op)) {
      memoryViews.insert(&op);
    } else if (auto concat = dyn_cast<ConcatOp>(op)) {
      std::optional<SmallVector<int64_t>> offsets =
          getContiguousOffsets(concat);
      DenseSet<Value> parts = taken;
      bool isAssembled =
          offsets &&
          llvm::all_of(*offsets,
                       [&](int64_t at) { return isAligned(at, concat); }) &&
          llvm::all_of(concat->getOpOperands(),
                       [&](OpOperand &input) { return isPart(input, parts); });
      if (!isAssembled)
        continue;
      memoryViews.insert(concat);
      taken = std::move(parts);
    }
  }
}

//===----------------------------------------------------------------------===//
// Lazy ops
//===----------------------------------------------------------------------===//

namespace {

/// Decides which ops may be lazy, in the order of a task.
class LazyChoice {
public:
  LazyChoice(const DenseSet<Operation *> &lazy, size_t mostOps)
      : lazy(lazy), mostOps(mostOps) {}

  /// Returns whether each reader may compute `op` again. The decisions for the
  /// ops before it are known.
  bool mayBeLazy(Operation *op) {
    size_t count = 1;
    bool isAllFromNothing = true, isAllAtHand = true, isSlow = false;
    for (Value operand : op->getOperands()) {
      Operation *def = skipReshapes(operand).getDefiningOp();
      bool isOperandLazy = lazy.contains(def);
      // A tree: readers of one value at different indices share nothing.
      count += isOperandLazy ? counts.lookup(def) : 0;
      isAllFromNothing &= fromNothing.contains(def);
      isAllAtHand &= !def || isOperandLazy;
      isSlow |= isOperandLazy && slow.contains(def);
    }
    isSlow |= isAllFromNothing && computesFunctions(op);
    bool isPulled = lazy.contains(op);
    if (isSlow && !isPulled && isRepeated(op))
      return false;
    bool isWanted = isView(op) || isWideningCast(op) ||
                    (isAllAtHand && isCheap(op, isAllFromNothing));
    bool isChosen = isPulled || (isWanted && count <= mostOps);
    if (!isChosen)
      return false;
    counts[op] = std::min(count, mostOps);
    if (isAllFromNothing)
      fromNothing.insert(op);
    if (isSlow)
      slow.insert(op);
    return true;
  }

private:
  /// Returns whether an op is cheap whose operands are arguments or lazy.
  static bool isCheap(Operation *op, bool isFromNothing) {
    return isFromNothing || getNumElements(op->getResult(0)) == 1 ||
           isa<CastOp, IotaOp>(op);
  }

  /// Returns whether an op computes a function such as a sine.
  static bool computesFunctions(Operation *op) {
    Work work = estimateWork(op);
    return llvm::any_of(work.ofType, [](const ElementWork &ofType) {
      return ofType.functions > 0;
    });
  }
  /// Returns whether a reader would compute elements of the op again and again.
  /// It computes a single one before its loops.
  static bool isRepeated(Operation *op) {
    int64_t elements = getNumElements(op->getResult(0));
    return elements > 1 && llvm::any_of(op->getUsers(), [&](Operation *user) {
             return llvm::any_of(user->getResults(), [&](Value result) {
               return getNumElements(result) > elements;
             });
           });
  }

  const DenseSet<Operation *> &lazy;
  size_t mostOps;
  DenseMap<Operation *, size_t> counts;
  DenseSet<Operation *> fromNothing; ///< from constants and indices alone
  DenseSet<Operation *> slow;        ///< functions of what is from nothing
};

} // namespace

/// Returns whether an op shows elements more than once.
static bool repeats(Operation *view) {
  return getNumElements(view->getResult(0)) >
         getNumElements(view->getOperand(0));
}

/// Returns whether a kernel reads the op through a reshape that merges columns:
/// each element would cost a division.
static bool hasMergingReader(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    if (!isReshape(user))
      return false;
    int64_t from = getSpace(user->getOperand(0)).columns;
    int64_t to = getSpace(user->getResult(0)).columns;
    return (from % to != 0 &&
            !llvm::all_of(
                user->getUsers(),
                llvm::IsaPred<ViewOpInterface, LibraryCallOpInterface>)) ||
           hasMergingReader(user);
  });
}

/// Returns whether the elements of each row of a matrix are neighbours.
static bool hasContiguousRows(const std::optional<Layout> &layout) {
  constexpr size_t kRankOfMatrices = 4; // statistics of rows have fewer
  return layout && (layout->sizes.back() == 1 || layout->strides.back() == 1 ||
                    layout->sizes.size() < kRankOfMatrices);
}

/// Follows the views of the results of `op` as long as each result has one
/// address in one buffer, with contiguous rows.
void TaskFusion::findWrittenViews(Operation *op) {
  SmallVector<Operation *> &joined = writtenViews[op];
  auto isJoined = [&](Operation *view) {
    return llvm::is_contained(joined, view);
  };
  auto isOfResults = [&](Value value) {
    return value.hasOneUse() && value.getDefiningOp() &&
           (value.getDefiningOp() == op || isJoined(value.getDefiningOp()));
  };
  auto isWritable = [&](Value result) {
    return hasContiguousRows(foldDestination(result, isJoined));
  };
  SmallVector<Value> worklist(op->getResults());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!value.hasOneUse())
      continue;
    Operation *view = *value.user_begin();
    if (!isa<ViewOpInterface, ConcatOp>(view) || isJoined(view) ||
        isMemoryView(view) || !llvm::all_of(view->getOperands(), isOfResults))
      continue;
    joined.push_back(view);
    if (llvm::all_of(op->getResults(), isWritable))
      worklist.push_back(view->getResult(0));
    else
      joined.pop_back();
  }
  // A reshape of a value in memory is not part of a kernel.
  auto isLastReshape = [&](Operation *view) {
    return isReshape(view) && llvm::none_of(view->getUsers(), isJoined);
  };
  while (llvm::any_of(joined, isLastReshape))
    llvm::erase_if(joined, isLastReshape);
}

void TaskFusion::findLazyOps() {
  Block &body = task.getBody().front();
  LazyChoice choice(lazy, getThreshold(task, Threshold::LazyOps));
  for (Operation &op : body) {
    if (!isa<ElementOpInterface>(op) || isReshape(&op) ||
        isa<AccumulateOp>(op) || isMemoryView(&op))
      continue;
    if (choice.mayBeLazy(&op))
      lazy.insert(&op);
  }
  for (Operation &op : llvm::reverse(body))
    if (isLazy(&op) && (hasUserInMemory(&op) || (isView(&op) && !repeats(&op) &&
                                                 hasMergingReader(&op))))
      lazy.erase(&op);
  for (auto op : body.getOps<ConcatOp>())
    if (isMemoryView(op))
      for (Value input : op.getInputs())
        demote(input);
  for (auto op : body.getOps<CollectiveOpInterface>())
    demote(op.getX());
  for (Operation &op : body)
    if (usesStrides(op)) {
      findWrittenViews(&op);
      for (Operation *view : writtenViews[&op])
        lazy.erase(view);
    }
  for (auto op : body.getOps<LibraryCallOpInterface>())
    makeOperandsFoldable(op);
  for (Operation &op : body)
    if (usesStrides(op))
      for (Value operand : op.getOperands())
        makeOperandFoldable(operand);
}

/// Gives the nearest lazy op before `value` a buffer, if there is one.
bool TaskFusion::demote(Value value) {
  return lazy.erase(skipReshapes(value).getDefiningOp());
}

/// Gives memory to the lazy op before the views of `operand`, if it is not a
/// view.
void TaskFusion::giveBaseMemory(Value operand) {
  Operation *def = operand.getDefiningOp();
  while (isView(def) && !isBase(def))
    def = def->getOperand(0).getDefiningOp();
  if (def)
    lazy.erase(def);
}

/// Afterwards the library reads its operands by strides.
void TaskFusion::makeOperandsFoldable(LibraryCallOpInterface op) {
  for (Value operand : op->getOperands())
    giveBaseMemory(operand);
  auto hasMemory = [&](Operation *view) { return isBase(view); };
  Value failed;
  auto isDemoted = [&](Value operand) { return demote(operand); };
  while (!foldCall(op, hasMemory, /*accumulates=*/false, failed))
    if (!demote(failed) && llvm::none_of(op->getOperands(), isDemoted))
      return;
}

/// Afterwards a kernel reads rows of the operand by strides.
void TaskFusion::makeOperandFoldable(Value operand) {
  giveBaseMemory(operand);
  auto hasMemory = [&](Operation *view) { return isBase(view); };
  while (!hasContiguousRows(foldViews(operand, hasMemory)) && demote(operand)) {
  }
}
