//===- SavedViews.cpp - What a backward reads through views ---------------===//

#include "SavedViews.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class ViewReader {
public:
  explicit ViewReader(StageParts &stage)
      : forward(stage.getForwardBlock()), backward(stage.getBackwardBlock()),
        builder(OpBuilder::atBlockBegin(backward)) {}

  void readResultsOfAttention();

private:
  llvm::MapVector<Value, SmallVector<OpOperand *>> getReads();
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
  reader.readResultsOfAttention();
}
