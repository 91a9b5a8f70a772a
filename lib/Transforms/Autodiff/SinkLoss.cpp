//===- SinkLoss.cpp - Moves the loss next to its gradient -----------------===//
//
// Before (phase train): the forward region of the stage that makes the loss
// computes the last matmul and the ops after it, and the backward region reads
// them. After: these ops are at the beginning of the backward region, which
// yields the loss of training. Copies of them are in an evaluation region,
// which yields the loss of evaluation. The entry returns both, evaluation's
// first. So values after the last matmul (a language model's logits) do not
// outlive their task.
//
//   %f:2 = pp.place 0 stage 0 { %z = pp.matmul %h, %w … pp.yield %loss, %z }
//   %b = pp.place 0 stage 0 backward { … %f#1 … }
//   return %f#0
//
//   %f = pp.place 0 stage 0 { … pp.yield %h }
//   %e = pp.place 0 stage 0 evaluation { %z = pp.matmul %f, %w … }
//   %b:2 = pp.place 0 stage 0 backward { %z = pp.matmul %f, %w … }
//   return %e, %b#1
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Transforms/Autodiff/Passes.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SINKLOSS
#include "ppopt/Transforms/Autodiff/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The regions of the stage that makes the loss.
class LossStage {
public:
  LossStage(func::ReturnOp ret, PlaceOp forward, PlaceOp backward)
      : ret(ret), forward(forward), backward(backward),
        forwardBody(forward.getBody().front()),
        backwardBody(backward.getBody().front()) {}

  void findSunk();
  void sink();
  bool hasSunk() const { return !sunk.empty(); }

private:
  bool isForLossOnly(OpOperand &use);
  void buildEvaluation(Value loss);
  void moveToBackward(Value loss);

  func::ReturnOp ret;
  PlaceOp forward, backward, evaluation;
  Block &forwardBody, &backwardBody;
  /// The ops to move, in program order.
  llvm::SetVector<Operation *> sunk;
  /// Ops from which only the loss and its gradient are reached.
  DenseSet<Operation *> lossOnly;
};

/// Returns whether a use of a value of the forward region is for the loss only:
/// by the loss, by ops that only the loss needs, or by the backward region of
/// the stage.
bool LossStage::isForLossOnly(OpOperand &use) {
  Operation *user = use.getOwner();
  if (!isa<YieldOp>(user))
    return lossOnly.contains(user);
  Value result = forward.getResult(use.getOperandNumber());
  return llvm::all_of(result.getUsers(), [&](Operation *reader) {
    return reader == ret || reader->getBlock() == &backwardBody;
  });
}

/// Finds the last matmuls and the ops after them that only the loss needs.
void LossStage::findSunk() {
  DenseSet<Operation *> beforeMatmul;
  for (Operation &op : llvm::reverse(forwardBody.without_terminator())) {
    if (!llvm::all_of(op.getUses(),
                      [&](OpOperand &use) { return isForLossOnly(use); }))
      continue;
    lossOnly.insert(&op);
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return beforeMatmul.contains(user) || isMatmul(user);
        }))
      beforeMatmul.insert(&op);
  }
  for (Operation &op : forwardBody.without_terminator()) {
    bool followsSunk = llvm::any_of(op.getOperands(), [&](Value operand) {
      return sunk.contains(operand.getDefiningOp());
    });
    if (lossOnly.contains(&op) && !beforeMatmul.contains(&op) &&
        (isMatmul(&op) || followsSunk))
      sunk.insert(&op);
  }
}

/// Clones the sunk ops, which still read values of the forward region.
void LossStage::buildEvaluation(Value loss) {
  OpBuilder builder(forward->getContext());
  builder.setInsertionPointAfter(forward);
  evaluation = PlaceOp::create(builder, loss.getLoc(), loss.getType(),
                               forward.getPlace(), forward.getStage(),
                               /*backward=*/false, /*evaluation=*/true);
  builder.createBlock(&evaluation.getBody());
  IRMapping map;
  for (Operation *op : sunk)
    builder.clone(*op, map);
  YieldOp::create(builder, loss.getLoc(), map.lookup(loss));
}

void LossStage::moveToBackward(Value loss) {
  Operation *first = &backwardBody.front();
  for (Operation *op : sunk)
    op->moveBefore(first);
  auto yield = cast<YieldOp>(backwardBody.getTerminator());
  yield->insertOperands(yield.getNumOperands(), loss);
  backward = yieldAll(backward);
}

void LossStage::sink() {
  Operation *yield = forwardBody.getTerminator();
  Value loss =
      yield->getOperand(cast<OpResult>(ret.getOperand(0)).getResultNumber());
  // The values are read directly until the region yields what is read.
  for (auto [result, value] :
       llvm::zip(forward.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(value);
  yield->setOperands({});
  buildEvaluation(loss);
  moveToBackward(loss);
  ret->setOperands({evaluation.getResult(0), backward->getResults().back()});
  yieldWhatIsRead(forward);
}

struct SinkLoss : pp::impl::SinkLossBase<SinkLoss> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    auto ret = cast<func::ReturnOp>(entry->getBody().front().getTerminator());
    if (ret.getNumOperands() != 1) {
      entry->emitError("has a loss of evaluation already: sink-loss runs once");
      return signalPassFailure();
    }
    auto forward = ret.getOperand(0).getDefiningOp<PlaceOp>();
    PlaceOp backward;
    for (auto place : entry->getOps<PlaceOp>())
      if (forward && place.getBackward() &&
          place.getStage() == forward.getStage())
        backward = place;
    if (!backward)
      return; // nothing learns
    LossStage stage(ret, forward, backward);
    stage.findSunk();
    if (!stage.hasSunk())
      return;
    stage.sink();
    auto type = FunctionType::get(&getContext(), entry->getArgumentTypes(),
                                  ret.getOperandTypes());
    entry->setFunctionType(type);
  }
};

} // namespace
