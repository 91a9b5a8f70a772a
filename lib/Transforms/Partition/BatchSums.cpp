//===- BatchSums.cpp - Sums over the batch that prologues compute ---------===//

#include "BatchSums.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the depth of nested sums over the batch that `value` depends on.
static unsigned countNestedSums(Value value, DenseMap<Value, unsigned> &known) {
  value = throughCopies(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  unsigned nested = 0;
  for (Value operand : op->getOperands())
    nested = std::max(nested, countNestedSums(operand, known));
  return known[value] = nested + isa<BatchSumOp>(op);
}

/// Returns the sums that the loss and the gradients depend on.
static DenseSet<Operation *> findNeededSums(func::FuncOp entry) {
  DenseSet<Operation *> sums;
  DenseSet<Value> seen;
  SmallVector<Value> worklist;
  entry.walk([&](Operation *op) {
    if (isa<AddGradOp, func::ReturnOp>(op))
      worklist.append(op->operand_begin(), op->operand_end());
  });
  while (!worklist.empty()) {
    Value value = throughPlace(worklist.pop_back_val());
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (isa<BatchSumOp>(op))
      sums.insert(op);
    worklist.append(op->operand_begin(), op->operand_end());
  }
  return sums;
}

BatchSums::BatchSums(EntryParts &parts) {
  func::FuncOp entry = parts.entry;
  DenseSet<Operation *> needed = findNeededSums(entry);
  DenseMap<Value, unsigned> nested;
  entry.walk([&](BatchSumOp op) {
    bool isNeeded = needed.contains(op) || op.getCount();
    if (!isNeeded || !summed.insert(throughCopies(op.getPartial())))
      return;
    StageParts *stage = parts.getStageOf(op->getBlock());
    sums.push_back({op, stage ? stage->place : parts.stages.front().place,
                    countNestedSums(op.getPartial(), nested)});
  });
}

std::string BatchSums::getName(BatchSumOp sum) const {
  Value partial = throughCopies(sum.getPartial());
  return "g" + std::to_string(llvm::find(summed, partial) - summed.begin());
}
