//===- WeightPart.cpp - Backward ops that only weights need ---------------===//

#include "WeightPart.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

using namespace mlir;
using namespace mlir::pp;

static bool sumsRows(Operation *op) {
  auto space = dyn_cast<IterationSpaceOpInterface>(op);
  return space &&
         llvm::any_of(space.getIterationSpace().loops, [](const Loop &loop) {
           return loop.kind == LoopKind::Sum;
         });
}

llvm::SetVector<Operation *> pp::findWeightPart(Block &backward,
                                                ArrayRef<Value> outputs) {
  // Goes from last to first, so that all users of an op have been seen. An op
  // is a candidate if it makes a weight's gradient, or if its result has not
  // been summed and only ops of the weight part read it.
  DenseSet<Value> isOutput(outputs.begin(), outputs.end());
  DenseSet<Operation *> weights, ended;
  for (Operation &op : llvm::reverse(backward.without_terminator())) {
    bool leadsToWeight = false, leadsElsewhere = false;
    for (Value result : op.getResults()) {
      leadsElsewhere |= isOutput.contains(result);
      for (Operation *user : result.getUsers()) {
        if (isa<YieldOp>(user))
          continue;
        if (auto add = dyn_cast<AddGradOp>(user)) {
          leadsToWeight |= !add.getTiles();
          continue;
        }
        // The op that sums reads gradients of activations, which belong to the
        // input part.
        bool isWeight = weights.contains(user) && !ended.contains(user);
        leadsToWeight |= isWeight;
        leadsElsewhere |= !isWeight;
      }
    }
    if (!leadsToWeight || leadsElsewhere)
      continue;
    weights.insert(&op);
    if (sumsRows(&op))
      ended.insert(&op);
  }
  llvm::SetVector<Operation *> ordered;
  for (Operation &op : backward.without_terminator())
    if (weights.contains(&op))
      ordered.insert(&op);
  return ordered;
}
