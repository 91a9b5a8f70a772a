//===- BatchSums.cpp - Sums over the batch that prologues compute ---------===//

#include "BatchSums.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

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

/// Returns the ops that some values depend on.
static DenseSet<Operation *> findSources(SmallVector<Value> worklist) {
  DenseSet<Operation *> sources;
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = throughPlace(worklist.pop_back_val());
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    sources.insert(op);
    worklist.append(op->operand_begin(), op->operand_end());
  }
  return sources;
}

BatchSums::BatchSums(EntryParts &parts) {
  func::FuncOp entry = parts.entry;
  SmallVector<Value> ofTraining{parts.loss}, ofMetrics;
  if (parts.trainingLoss)
    ofTraining.push_back(parts.trainingLoss);
  entry.walk([&](AddGradOp add) {
    ofTraining.append(add->operand_begin(), add->operand_end());
  });
  for (const EntryOutput &proposal : parts.proposals)
    ofTraining.push_back(proposal.value);
  for (const EntryMetric &metric : parts.metrics)
    ofMetrics.push_back(metric.value);
  for (const EntryOutput &output : parts.outputs)
    ofMetrics.push_back(output.value);
  DenseSet<Operation *> training = findSources(ofTraining);
  DenseSet<Operation *> metrics = findSources(ofMetrics);
  DenseMap<Value, unsigned> nested;
  entry.walk([&](BatchSumOp op) {
    bool isNeeded =
        training.contains(op) || metrics.contains(op) || op.getCount();
    Value partial = throughCopies(op.getPartial());
    if (!isNeeded || !summed.insert(partial))
      return;
    StageParts *stage = parts.getStageOf(op->getBlock());
    sums.push_back(
        {op, stage ? stage->place : parts.stages.front().place,
         countNestedSums(op.getPartial(), nested),
         op.getCount() && training.contains(partial.getDefiningOp())});
  });
}

std::string BatchSums::getName(BatchSumOp sum) const {
  Value partial = throughCopies(sum.getPartial());
  return "g" + std::to_string(llvm::find(summed, partial) - summed.begin());
}
