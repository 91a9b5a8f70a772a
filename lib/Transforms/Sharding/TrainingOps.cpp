//===- TrainingOps.cpp - What training alone computes ---------------------===//

#include "ppopt/Transforms/Sharding/TrainingOps.h"

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a result of the entry is of training alone: a proposal, or
/// the loss where evaluations compute another.
static bool isOfTraining(func::ReturnOp ret, unsigned number) {
  auto entry = ret->getParentOfType<func::FuncOp>();
  return number >= countNamedResults(entry) ||
         entry.getResultAttr(number, kProposalAttr);
}

TrainingOps::TrainingOps(func::FuncOp entry)
    : isSplit(entry.walk([](ByModeOp) { return WalkResult::interrupt(); })
                  .wasInterrupted()) {
  auto ret = cast<func::ReturnOp>(entry.getBody().front().getTerminator());
  SmallVector<Value> worklist;
  for (OpOperand &result : ret->getOpOperands()) {
    unsigned number = result.getOperandNumber();
    isSplit |= entry.getResultAttr(number, kProposalAttr) != nullptr;
    if (!isOfTraining(ret, number))
      worklist.push_back(result.get());
  }
  DenseSet<Value> seen;
  while (isSplit && !worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    evaluated.insert(op);
    if (op->getNumRegions())
      worklist.push_back(op->getRegion(0).front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber()));
    else if (auto mode = dyn_cast<ByModeOp>(op))
      worklist.push_back(mode.getEvaluation());
    else
      llvm::append_range(worklist, op->getOperands());
  }
}

bool TrainingOps::isRead(OpOperand &use) const {
  if (!isSplit)
    return false;
  Operation *reader = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto ret = dyn_cast<func::ReturnOp>(reader))
    return isOfTraining(ret, number);
  if (isa<YieldOp>(reader))
    return llvm::all_of(reader->getParentOp()->getResult(number).getUses(),
                        [&](OpOperand &each) { return isRead(each); });
  if (isa<ByModeOp>(reader) && number == 0)
    return true;
  return contains(reader);
}
