//===- LazyOps.cpp - Ops that have no buffer of their own -----------------===//

#include "Fusion.h"
#include "ViewFolding.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// The value behind reshapes.
static Value skipReshapes(Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getX();
  return value;
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// A chain of accumulations that begins with a tied argument and ends in the
/// result that the argument is tied to, all of whose other members have one
/// use.
void TaskFusion::findInPlaceAccumulations() {
  Operation *ret = task.getBody().front().getTerminator();
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
    std::optional<unsigned> tied = task.getTiedArgument(i);
    if (!tied)
      continue;
    SmallVector<Operation *> chain;
    Value value = ret->getOperand(i);
    while (auto op = value.getDefiningOp<AccumulateOp>()) {
      chain.push_back(op);
      value = op.getAccumulator();
      if (!value.hasOneUse())
        break;
    }
    if (value == task.getBody().getArgument(*tied) && value.hasOneUse())
      inPlace.insert_range(chain);
  }
}

//===----------------------------------------------------------------------===//
// Memory views
//===----------------------------------------------------------------------===//

/// Values that must be in memory: what the task returns and accumulates.
static bool hasUserInMemory(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    if (isa<ReshapeOp>(user))
      return hasUserInMemory(user);
    return isa<ReturnOp>(user);
  });
}

/// Whether a buffer may begin at an element of another.
static bool isAligned(int64_t offset, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return offset * getElementBytes(element) % kBufferAlignment == 0;
}

/// Whether an operand of a concatenation can be computed in its place: nothing
/// else says where its buffer lies.
bool TaskFusion::isPart(OpOperand &input, DenseSet<Value> &taken) const {
  Value value = skipReshapes(input.get());
  Operation *def = value.getDefiningOp();
  bool isOfArgument = isMemoryView(def) && !isa<ConcatOp>(def);
  if (!def || isOfArgument || hasUserInMemory(def))
    return false;
  auto accumulate = dyn_cast<AccumulateOp>(def);
  return !(accumulate && isInPlace(accumulate)) && taken.insert(value).second;
}

/// Slices of arguments, and concatenations, whose elements follow one another.
void TaskFusion::findMemoryViews() {
  DenseSet<Value> taken; // parts of a concatenation
  for (Operation &op : task.getBody().front()) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      std::optional<int64_t> offset = getContiguousOffset(slice);
      Operation *source = skipReshapes(slice.getX()).getDefiningOp();
      if (offset && isAligned(*offset, slice) && !source &&
          !hasUserInMemory(slice))
        memoryViews.insert(slice);
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

bool TaskFusion::isComputedFromNothing(Value value) const {
  Operation *op = skipReshapes(value).getDefiningOp();
  return op && isLazy(op) && llvm::all_of(op->getOperands(), [&](Value x) {
           return isComputedFromNothing(x);
         });
}

/// Whether each reader may compute the op again: its operands are arguments or
/// cheap themselves, or it is a narrow value under a wider type, which is read
/// as it lies in memory.
bool TaskFusion::isCheap(Operation *op) const {
  if (isWideningCast(op))
    return true;
  bool isAllFromNothing = true;
  for (Value operand : op->getOperands()) {
    Operation *def = skipReshapes(operand).getDefiningOp();
    if (def && !isLazy(def))
      return false;
    isAllFromNothing &= def && isComputedFromNothing(operand);
  }
  return isAllFromNothing || getNumElements(op->getResult(0)) == 1 ||
         isa<CastOp, IotaOp>(op);
}

/// Whether a kernel reads the op through a reshape that merges columns: each
/// element would cost a division.
static bool hasMergingReader(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto view = dyn_cast<ReshapeOp>(user);
    if (!view)
      return false;
    int64_t from = getSpace(view.getX()).columns;
    int64_t to = getSpace(view.getResult()).columns;
    return (from % to != 0 && llvm::any_of(view->getUsers(),
                                           [](Operation *reader) {
                                             return !isView(reader) &&
                                                    !isa<MatmulOp>(reader);
                                           })) ||
           hasMergingReader(view);
  });
}

void TaskFusion::findLazyOps() {
  Block &body = task.getBody().front();
  for (Operation &op : body) {
    if (!isa<ElementOpInterface>(op) || isa<ReshapeOp, AccumulateOp>(op) ||
        isMemoryView(&op))
      continue;
    if (isa<BroadcastOp, SliceOp, TransposeOp>(op) || isCheap(&op))
      lazy.insert(&op);
  }
  for (Operation &op : llvm::reverse(body))
    if (isLazy(&op) &&
        (hasUserInMemory(&op) ||
         (isa<SliceOp, TransposeOp>(op) && hasMergingReader(&op))))
      lazy.erase(&op);
  for (auto op : body.getOps<ConcatOp>())
    if (isMemoryView(op))
      for (Value input : op.getInputs())
        demote(input);
  for (auto op : body.getOps<MatmulOp>())
    makeOperandsFoldable(op);
}

/// Gives the nearest lazy op behind `value` a buffer, if there is one.
bool TaskFusion::demote(Value value) {
  return lazy.erase(skipReshapes(value).getDefiningOp());
}

/// After it the product reads its operands by strides.
void TaskFusion::makeOperandsFoldable(MatmulOp op) {
  auto isBase = [&](Operation *view) {
    return !isa<ReshapeOp>(view) && !isLazy(view);
  };
  // Lazy ops that are not views.
  for (Value operand : op->getOperands())
    while (true) {
      Operation *def = operand.getDefiningOp();
      if (isView(def) && !isBase(def)) {
        operand = def->getOperand(0);
        continue;
      }
      if (def)
        lazy.erase(def);
      break;
    }
  Value failed;
  while (!foldProduct(op, isBase, failed))
    if (!demote(failed) && !demote(op.getLhs()) && !demote(op.getRhs()))
      return;
}
