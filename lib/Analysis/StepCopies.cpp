//===- StepCopies.cpp - The copies of a step ------------------------------===//

#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "ppopt/Analysis/OptimizerState.h"

using namespace mlir;
using namespace mlir::pp;

std::string StepCopy::getName() const {
  if (!bucket)
    return "x" + std::to_string(id);
  return value + (gradientOf ? "_from_" + std::to_string(from)
                             : "_to_" + std::to_string(to));
}

BufferAttr StepCopy::getBuffer() const {
  BucketOp of = bucket;
  return BufferAttr::get(of.getContext(),
                         gradientOf ? BufferKind::Grads : BufferKind::Params,
                         of.getSymName());
}

StepOp pp::findStep(ModuleOp module) {
  auto steps = module.getOps<StepOp>();
  return steps.empty() ? StepOp() : *steps.begin();
}

namespace {

/// Describes the copies of a module's step.
class CopyFinder {
public:
  explicit CopyFinder(ModuleOp module) {
    for (auto task : module.getOps<TaskOp>()) {
      tasks[task.getSymNameAttr()] = task;
      if (task.getStage() == TaskOp::kNoStage)
        continue;
      auto [first, isNew] =
          firstStages.try_emplace(task.getPlace(), task.getStage());
      if (!isNew)
        first->second = std::min(first->second, task.getStage());
    }
    for (auto bucket : module.getOps<BucketOp>())
      buckets[bucket.getSymNameAttr()] = bucket;
  }

  StepCopy describe(CopyOp copy) const;
  /// Returns the number of a result among those that other stages read.
  int64_t getNumber(CallOp call, OpResult result) const;
  StepCopy describe(CopyBucketOp copy) const;
  /// Returns the first stage, in the order of the step, that reads a copy.
  int64_t findReader(CopyOp copy) const;

private:
  TaskOp getTask(CallOp call) const {
    return tasks.lookup(call.getTaskAttr().getAttr());
  }

  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<StringAttr, BucketOp> buckets;
  DenseMap<int64_t, int64_t> firstStages; // by place
};

} // namespace

int64_t CopyFinder::findReader(CopyOp copy) const {
  std::optional<int64_t> first;
  for (Operation *user : copy->getUsers())
    if (auto call = dyn_cast<CallOp>(user)) {
      int64_t stage = getTask(call).getStage();
      bool isEarlier = copy.getGradientOf() ? stage > first.value_or(stage)
                                            : stage < first.value_or(stage);
      if (!first || isEarlier)
        first = stage;
    }
  return first.value_or(0);
}

int64_t CopyFinder::getNumber(CallOp call, OpResult result) const {
  TaskOp task = getTask(call);
  if (task.getKind() == TaskKind::Forward)
    return result.getResultNumber(); // what its backward reads counts too
  auto isReadElsewhere = [&](OpResult other) {
    return llvm::any_of(other.getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<CallOp>(user);
      return !reader || getTask(reader).getStage() != task.getStage();
    });
  };
  return llvm::count_if(
      call.getResults().take_front(result.getResultNumber()),
      [&](Value other) { return isReadElsewhere(cast<OpResult>(other)); });
}

template <typename OpT> static StepCopy describeEnds(OpT copy) {
  StepCopy found;
  found.id = copy.getId();
  found.from = copy.getFrom();
  found.to = copy.getTo();
  found.gradientOf = copy.getGradientOf();
  return found;
}

StepCopy CopyFinder::describe(CopyOp copy) const {
  StepCopy found = describeEnds(copy);
  found.type = cast<RankedTensorType>(copy.getType());
  found.toStage = findReader(copy);
  auto result = dyn_cast<OpResult>(copy.getX());
  if (auto call = result ? dyn_cast<CallOp>(result.getOwner()) : CallOp()) {
    TaskOp task = getTask(call);
    found.fromStage = task.getStage();
    // In phase kernels, results have become arguments.
    SmallVector<unsigned> results = task.getValueResults();
    if (result.getResultNumber() < results.size())
      found.sharding = task.getResultAttrOfType<ShardingAttr>(
          results[result.getResultNumber()], kShardingAttr);
    const char *of = task.getKind() == TaskKind::Forward      ? ".v"
                     : task.getKind() == TaskKind::Evaluation ? ".e"
                                                              : ".g";
    found.value = "s" + std::to_string(task.getStage()) + of +
                  std::to_string(getNumber(call, result));
  }
  return found;
}

StepCopy CopyFinder::describe(CopyBucketOp copy) const {
  StepCopy found = describeEnds(copy);
  found.fromStage = firstStages.lookup(copy.getFrom());
  found.toStage = firstStages.lookup(copy.getTo());
  found.value = copy.getBucket().str();
  found.bucket = buckets.lookup(copy.getBucketAttr().getAttr());
  Type element =
      copy.getGradientOf() ? getGradType(found.bucket) : found.bucket.getType();
  found.type = RankedTensorType::get({found.bucket.getElements()}, element);
  return found;
}

StepCopies::StepCopies(ModuleOp module) {
  StepOp step = findStep(module);
  if (!step)
    return;
  CopyFinder finder(module);
  for (Region &region : step->getRegions())
    for (Operation &op : region.getOps()) {
      if (auto copy = dyn_cast<CopyBucketOp>(op)) {
        StepCopy &added =
            copies.try_emplace(copy.getId(), finder.describe(copy))
                .first->second;
        added.isInTraining = added.isInEvaluation = true;
        continue;
      }
      auto copy = dyn_cast<CopyOp>(op);
      if (!copy)
        continue;
      auto [it, isNew] =
          copies.try_emplace(copy.getId(), finder.describe(copy));
      // An evaluation may read it in an earlier stage than training.
      if (!isNew && !copy.getGradientOf())
        it->second.toStage =
            std::min(it->second.toStage, finder.findReader(copy));
      (&region == &step.getEvaluation() ? it->second.isInEvaluation
                                        : it->second.isInTraining) = true;
    }
  for (auto &[id, copy] : copies)
    if (copy.gradientOf)
      if (auto of = copies.find(*copy.gradientOf); of != copies.end())
        of->second.requiresGrad = true;
}
