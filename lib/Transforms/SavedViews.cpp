//===- SavedViews.cpp - What a backward reads through views ---------------===//

#include "SavedViews.h"

#include "ppopt/Analysis/Cost.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class ViewReader {
public:
  explicit ViewReader(StageParts &stage)
      : forward(stage.getForwardBlock()), backward(stage.getBackwardBlock()),
        builder(OpBuilder::atBlockBegin(backward)) {}

  void readWholes();
  void readResultsOfAttention();

private:
  llvm::MapVector<Value, SmallVector<OpOperand *>> getReads();
  Value getSliced(Value value);
  Value cloneViews(Value value, Value root);
  Value getContinuation(Value value);
  Value undoViews(Value value, Value continuation, Value same);

  Block *forward, *backward;
  OpBuilder builder;
};

} // namespace

/// The forward's values that the backward reads, and where it does.
llvm::MapVector<Value, SmallVector<OpOperand *>> ViewReader::getReads() {
  llvm::MapVector<Value, SmallVector<OpOperand *>> reads;
  for (Operation &op : *backward)
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = throughPlace(operand.get());
      if (value.getDefiningOp() && value.getParentBlock() == forward)
        reads[value].push_back(&operand);
    }
  return reads;
}

/// What `value` is a slice of, behind views; nothing if it is no slice.
Value ViewReader::getSliced(Value value) {
  bool isSlice = false;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getBlock() != forward || !isa<ReshapeOp, TransposeOp, SliceOp>(op))
      break;
    isSlice |= isa<SliceOp>(op);
    value = op->getOperand(0);
  }
  bool isOfForward = value.getDefiningOp() && value.getParentBlock() == forward;
  return isSlice && isOfForward ? value : Value();
}

/// `value`, a view of `root`, made again in the backward.
Value ViewReader::cloneViews(Value value, Value root) {
  if (value == root)
    return root;
  Operation *op = value.getDefiningOp();
  IRMapping map;
  map.map(op->getOperand(0), cloneViews(op->getOperand(0), root));
  return builder.clone(*op, map)->getResult(0);
}

void ViewReader::readWholes() {
  auto reads = getReads();
  llvm::MapVector<Value, SmallVector<Value>> slices;
  for (auto &[value, operands] : reads)
    if (Value sliced = getSliced(value))
      slices[sliced].push_back(value);
  for (auto &[whole, parts] : slices) {
    int64_t bytes = 0;
    for (Value part : parts)
      bytes += getBytes(part);
    if (bytes < getBytes(whole) && !reads.contains(whole))
      continue;
    for (Value part : parts) {
      Value again = cloneViews(part, whole);
      for (OpOperand *operand : reads[part])
        operand->set(again);
    }
  }
}

/// `value` under the views with which alone the forward goes on.
Value ViewReader::getContinuation(Value value) {
  Operation *only = nullptr;
  for (Operation *user : value.getUsers()) {
    if (user->getBlock() != forward || isa<YieldOp>(user))
      continue;
    if (only && only != user)
      return value;
    only = user;
  }
  if (!isa_and_nonnull<ReshapeOp, TransposeOp>(only))
    return value;
  return getContinuation(only->getResult(0));
}

/// `value`, of which `continuation` is a view, made of `same`, which stands for
/// that.
Value ViewReader::undoViews(Value value, Value continuation, Value same) {
  if (value == continuation)
    return same;
  Operation *view = continuation.getDefiningOp();
  Value x = view->getOperand(0);
  Location loc = view->getLoc();
  Value undone;
  if (auto transpose = dyn_cast<TransposeOp>(view))
    undone = TransposeOp::create(builder, loc, same,
                                 invertPermutationVector(transpose.getPerm()));
  else
    undone = ReshapeOp::create(builder, loc, x.getType(), same);
  return undoViews(value, x, undone);
}

void ViewReader::readResultsOfAttention() {
  auto reads = getReads();
  for (auto &[value, operands] : reads) {
    if (!value.getDefiningOp<AttentionOp>())
      continue;
    Value continuation = getContinuation(value);
    if (continuation == value)
      continue;
    Value undone = undoViews(value, continuation, continuation);
    for (OpOperand *operand : operands)
      operand->set(undone);
  }
}

void pp::readThroughViews(StageParts &stage) {
  ViewReader reader(stage);
  reader.readWholes();
  reader.readResultsOfAttention();
}
