//===- Crossings.cpp - Values that cross between tasks --------------------===//

#include "Crossings.h"

#include "WeightPart.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

AddedGradients::AddedGradients(Block &backward) {
  for (auto add : backward.getOps<AddGradOp>()) {
    Value gradient = throughPlace(add.getGradient());
    bool isMadeHere =
        gradient.getDefiningOp() && gradient.getParentBlock() == &backward;
    (isMadeHere && !add.getTiles() ? byValue[gradient] : others).push_back(add);
  }
}

ArrayRef<AddGradOp> AddedGradients::of(Value value) const {
  auto found = byValue.find(value);
  return found == byValue.end() ? ArrayRef<AddGradOp>() : found->second;
}

/// Notes that a task takes `value`, so that some region must export it. The
/// value of a copy is exported by the region that yields it, even if that
/// region only passes it on.
static void noteRead(EntryParts &parts, Value value, Exports &exports) {
  auto copy = value.getDefiningOp<CopyOp>();
  if (!copy) {
    exports[value.getParentBlock()].insert(value);
    return;
  }
  exports[parts.getSender(copy)].insert(throughPlace(copy.getX()));
}

/// Notes what a task takes for some values that it makes.
static void noteReads(EntryParts &parts, const SharedValues &shared,
                      const TaskScope &scope, ArrayRef<Value> roots,
                      Exports &exports) {
  TaskNeeds needs;
  needs.add(roots, scope, shared);
  for (Value value : needs.taken)
    noteRead(parts, value, exports);
}

static void sortAll(EntryParts &parts, Exports &exports) {
  for (auto &[block, values] : exports)
    sortByPosition(parts.entry, values);
}

Crossings pp::findEvaluationCrossings(EntryParts &parts,
                                      const SharedValues &shared) {
  Crossings crossings;
  Exports &exports = crossings.exports;
  for (StageParts &stage : llvm::reverse(parts.stages)) {
    SmallVector<Value> roots(exports[stage.getForwardBlock()].getArrayRef());
    llvm::append_range(roots, parts.getResults(stage));
    noteReads(parts, shared, getEvaluationScope(parts, stage), roots, exports);
  }
  sortAll(parts, exports);
  return crossings;
}

namespace {

class CrossingFinder {
public:
  CrossingFinder(EntryParts &parts, PlanOp plan, const SharedValues &shared,
                 const DenseSet<Value> &marked)
      : parts(parts), recompute(plan.getRecompute()), shared(shared),
        marked(marked),
        gathersParams(getShardedState(plan) == ShardedState::Parameters) {
    crossings.backwards.resize(parts.stages.size());
  }

  Crossings find(bool splitsBackward);

private:
  SmallVector<Value> getForwardRoots(StageParts &stage);
  SmallVector<Value> getBackwardRoots(StageParts &stage);
  void findSaved(StageParts &stage);
  void noteReads(const TaskScope &scope, ArrayRef<Value> roots) {
    ::noteReads(parts, shared, scope, roots, crossings.exports);
  }
  void splitBackward(StageParts &stage);
  SmallVector<Value> findHandedOn(StageParts &stage);
  ValueSources getSources(ArrayRef<Block *> blocks) {
    return {parts.entry, blocks, isAtHand, marked, gathersParams};
  }

  EntryParts &parts;
  Recompute recompute;
  const SharedValues &shared;
  const DenseSet<Value> &marked;
  bool gathersParams;
  std::function<bool(Value)> isAtHand = [this](Value value) {
    return shared.getRole(value) != nullptr;
  };
  Crossings crossings;
};

} // namespace

/// Returns the values that the forward task has to compute.
SmallVector<Value> CrossingFinder::getForwardRoots(StageParts &stage) {
  SmallVector<Value> roots(
      crossings.exports[stage.getForwardBlock()].getArrayRef());
  if (parts.makesLoss(stage))
    roots.push_back(parts.loss);
  for (const EntryOutput &proposal : parts.getProposals(stage))
    roots.push_back(proposal.value);
  return roots;
}

/// Returns the values that the backward tasks have to compute.
SmallVector<Value> CrossingFinder::getBackwardRoots(StageParts &stage) {
  Block *block = stage.getBackwardBlock();
  SmallVector<Value> roots(crossings.exports[block].getArrayRef());
  for (auto add : block->getOps<AddGradOp>())
    roots.push_back(add.getGradient());
  if (stage.evaluation)
    roots.push_back(parts.trainingLoss);
  return roots;
}

void CrossingFinder::findSaved(StageParts &stage) {
  TaskNeeds needs;
  needs.add(getBackwardRoots(stage), getSavingScope(parts, stage), shared);
  BackwardCrossings &backward = crossings.backwards[stage.stage];
  for (Operation &op : *stage.getBackwardBlock())
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return needs.computed.contains(result);
        }))
      backward.ops.insert(&op);
  Block *blocks[] = {stage.getForwardBlock(), parts.getBlock()};
  backward.saved = chooseSaved(needs.taken, recompute, getSources(blocks));
}

/// Returns the values that the weight part takes. A value is computed again
/// only from others that the weight part reads anyway: it takes the gradient of
/// an activation rather than the values that the gradient is computed from.
SmallVector<Value> CrossingFinder::findHandedOn(StageParts &stage) {
  const BackwardCrossings &backward = crossings.backwards[stage.stage];
  Block *body = stage.getBackwardBlock();
  DenseSet<Value> notWeights(backward.saved.begin(), backward.saved.end());
  for (Operation *op : backward.ops)
    if (!backward.weights.contains(op))
      notWeights.insert(op->result_begin(), op->result_end());
  TaskNeeds needs;
  for (Operation *op : backward.weights)
    for (Value operand : op->getOperands())
      if (Value value = throughPlace(operand); notWeights.contains(value))
        needs.taken.insert(value);
  TaskScope scope = getBackwardScope(parts, stage, llvm::to_vector(notWeights));
  for (AddGradOp add : AddedGradients(*body).others)
    needs.add(add.getGradient(), scope, shared);
  sortByPosition(parts.entry, needs.taken);
  Block *blocks[] = {body, stage.getForwardBlock(), parts.getBlock()};
  SmallVector<Value> taken =
      dropRecomputed(needs.taken.getArrayRef(), recompute, getSources(blocks));
  llvm::erase_if(taken,
                 [&](Value value) { return value.getParentBlock() != body; });
  return taken;
}

void CrossingFinder::splitBackward(StageParts &stage) {
  BackwardCrossings &backward = crossings.backwards[stage.stage];
  Block *body = stage.getBackwardBlock();
  backward.isSplit = true;
  backward.weights =
      findWeightPart(*body, crossings.exports[body].getArrayRef());
  backward.handedOn = findHandedOn(stage);
}

/// Goes from the last task of a step to the first, so that everything that a
/// task has to hand on is known before what it takes for that.
Crossings CrossingFinder::find(bool splitsBackward) {
  for (StageParts &stage : parts.stages)
    if (stage.backward) {
      findSaved(stage);
      for (Value value : crossings.backwards[stage.stage].saved)
        noteRead(parts, value, crossings.exports);
    }
  for (StageParts &stage : parts.stages)
    if (stage.evaluation && !parts.hasEvaluations())
      noteReads(
          getLossScope(parts, stage, crossings.backwards[stage.stage].saved),
          parts.loss);
  for (StageParts &stage : llvm::reverse(parts.stages))
    noteReads(getForwardScope(parts, stage), getForwardRoots(stage));
  sortAll(parts, crossings.exports);
  for (StageParts &stage : parts.stages)
    if (stage.backward && splitsBackward)
      this->splitBackward(stage);
  return std::move(crossings);
}

Crossings pp::findCrossings(EntryParts &parts, PlanOp plan,
                            const SharedValues &shared,
                            const DenseSet<Value> &marked) {
  return CrossingFinder(parts, plan, shared, marked).find(splitsBackward(plan));
}
