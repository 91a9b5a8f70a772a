//===- SinkLoss.cpp - Moves the loss next to its gradient -----------------===//
//
// Before (phase train): the forward region of the stage that makes the loss
// computes the last matmul and the ops after it, and the backward region reads
// them. After: these ops are at the beginning of the backward region, which
// yields the loss of training. Copies of them are in an evaluation region,
// which yields the loss of evaluation. The entry returns both, evaluation's
// first. So values after the last matmul (a language model's logits) do not
// outlive their task. Ops of the stage from which only metrics follow move to
// the evaluation region: they read the copies.
//
//   %f:2 = pp.place 0 stage 0 { %z = pp.matmul %h, %w … pp.yield %loss, %z }
//   %b = pp.place 0 stage 0 backward { … %f#1 … }
//   return %f#0, %metric
//
//   %f = pp.place 0 stage 0 { … pp.yield %h }
//   %e = pp.place 0 stage 0 evaluation { %z = pp.matmul %f, %w … }
//   %b:2 = pp.place 0 stage 0 backward { %z = pp.matmul %f, %w … }
//   return %e, %metric, %b#1
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ParallelOps.h"
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
  bool isProposal(OpOperand &result) {
    auto entry = ret->getParentOfType<func::FuncOp>();
    return entry.getResultAttr(result.getOperandNumber(), kProposalAttr) !=
           nullptr;
  }
  bool isForMetricsOnly(OpOperand &use);
  bool isForLossOnly(OpOperand &use);
  void buildEvaluation(Value loss);
  void moveToBackward(Value loss);

  func::ReturnOp ret;
  PlaceOp forward, backward, evaluation;
  Block &forwardBody, &backwardBody;
  /// The ops to move, in program order.
  llvm::SetVector<Operation *> sunk;
  /// Ops from which only the loss, its gradient and metrics are reached, and
  /// those from which metrics alone are.
  DenseSet<Operation *> lossOnly, metricsOnly;
};

/// Returns whether a use of a value of the forward region is for metrics only:
/// by a result after the loss, or by ops that only metrics need.
bool LossStage::isForMetricsOnly(OpOperand &use) {
  Operation *user = use.getOwner();
  if (!isa<YieldOp>(user))
    return metricsOnly.contains(user);
  Value result = forward.getResult(use.getOperandNumber());
  return llvm::all_of(result.getUses(), [&](OpOperand &reader) {
    return reader.getOwner() == ret && reader.getOperandNumber() > 0 &&
           !isProposal(reader);
  });
}

/// Returns whether a use of a value of the forward region is for the loss and
/// metrics only: by the results, by ops that only they need, or by the backward
/// region of the stage.
bool LossStage::isForLossOnly(OpOperand &use) {
  Operation *user = use.getOwner();
  if (!isa<YieldOp>(user))
    return lossOnly.contains(user);
  Value result = forward.getResult(use.getOperandNumber());
  return llvm::all_of(result.getUses(), [&](OpOperand &reader) {
    return reader.getOwner() == ret
               ? !isProposal(reader)
               : reader.getOwner()->getBlock() == &backwardBody;
  });
}

/// Finds the last matmuls and the ops after them that only the loss and metrics
/// need. A matmul of metrics alone is not the last one before the loss.
void LossStage::findSunk() {
  DenseSet<Operation *> beforeMatmul;
  for (Operation &op : llvm::reverse(forwardBody.without_terminator())) {
    if (llvm::all_of(op.getUses(),
                     [&](OpOperand &use) { return isForMetricsOnly(use); }))
      metricsOnly.insert(&op);
    if (!llvm::all_of(op.getUses(),
                      [&](OpOperand &use) { return isForLossOnly(use); }))
      continue;
    lossOnly.insert(&op);
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return beforeMatmul.contains(user) ||
                 (isMatmul(user) && !metricsOnly.contains(user));
        }))
      beforeMatmul.insert(&op);
  }
  for (Operation &op : forwardBody.without_terminator()) {
    if (metricsOnly.contains(&op))
      continue;
    bool followsSunk = llvm::any_of(op.getOperands(), [&](Value operand) {
      return sunk.contains(operand.getDefiningOp());
    });
    if (lossOnly.contains(&op) && !beforeMatmul.contains(&op) &&
        (isMatmul(&op) || followsSunk))
      sunk.insert(&op);
  }
}

/// Clones the sunk ops, which still read values of the forward region, and
/// moves what only metrics need.
void LossStage::buildEvaluation(Value loss) {
  OpBuilder builder(forward->getContext());
  builder.setInsertionPointAfter(forward);
  evaluation = PlaceOp::create(builder, loss.getLoc(), TypeRange(),
                               forward.getPlace(), forward.getStage(),
                               /*backward=*/false, /*evaluation=*/true);
  Block *body = builder.createBlock(&evaluation.getBody());
  IRMapping map;
  for (Operation &op : llvm::make_early_inc_range(forwardBody)) {
    if (sunk.contains(&op))
      builder.clone(op, map);
    else if (metricsOnly.contains(&op))
      op.moveBefore(body, body->end());
  }
  for (Operation &op : *body)
    for (OpOperand &operand : op.getOpOperands())
      operand.set(map.lookupOrDefault(operand.get()));
  // The loss, then the metrics of the stage.
  SmallVector<Value> yielded{map.lookup(loss)};
  SmallVector<unsigned> numbers{0};
  for (OpOperand &result : ret->getOpOperands().drop_front()) {
    Value value = map.lookupOrDefault(result.get());
    if (value.getParentBlock() != body)
      continue;
    yielded.push_back(value);
    numbers.push_back(result.getOperandNumber());
  }
  builder.setInsertionPointToEnd(body);
  YieldOp::create(builder, loss.getLoc(), yielded);
  evaluation = yieldAll(evaluation);
  for (auto [number, result] : llvm::zip(numbers, evaluation.getResults()))
    ret->setOperand(number, result);
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
  ret->insertOperands(ret->getNumOperands(), backward->getResults().back());
  yieldWhatIsRead(forward);
}

struct SinkLoss : pp::impl::SinkLossBase<SinkLoss> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    auto ret = cast<func::ReturnOp>(entry->getBody().front().getTerminator());
    if (ret.getNumOperands() != countNamedResults(*entry)) {
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
    unsigned last = entry->getNumResults();
    if (failed(entry->insertResult(last, ret->getOperand(last).getType(), {})))
      return signalPassFailure();
  }
};

} // namespace
