//===- StageTasks.cpp - The tasks of stages -------------------------------===//

#include "StageTasks.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

static RoleAttr getLossRole(MLIRContext *context) {
  return RoleAttr::get(context, RoleKind::Loss, "loss");
}

/// A result is added up over the microbatches and ranks that it is a partial
/// sum over. The loss is the first.
static ShardingAttr getResultSharding(const EntryParts &parts,
                                      unsigned number = 0) {
  func::FuncOp entry = parts.entry;
  return getReadAttr(entry.getBody().front().getTerminator(), number);
}

static RoleAttr getGradRole(AddGradOp add) {
  return RoleAttr::get(add.getContext(), RoleKind::Grad,
                       add.getParam().getDefiningOp<ParamOp>().getParamName());
}

/// Begins the task of a stage, "s0_F".
static TaskBuilder beginTask(const TaskSources &sources,
                             const StageParts &stage, StringRef suffix,
                             TaskKind kind, PlaceOp region,
                             OpBuilder &builder) {
  return TaskBuilder(builder, ("s" + Twine(stage.stage) + "_" + suffix).str(),
                     kind, stage.stage, stage.place, region.getLoc(),
                     sources.parts.loss.getType());
}

static void buildLoss(const TaskSources &sources, StageParts &stage,
                      OpBuilder &builder) {
  auto &[parts, sums, shared, crossings, calls] = sources;
  TaskBuilder task =
      beginTask(sources, stage, "L", TaskKind::Loss, stage.evaluation, builder);
  ArrayRef<Value> saved = crossings.backwards[stage.stage].saved;
  TaskCloner cloner(task, getLossScope(parts, stage, saved), shared);
  task.accumulate(getLossRole(builder.getContext()), cloner.get(parts.loss),
                  getResultSharding(parts));
  calls.push_back(
      {task.finish(), nullptr, llvm::to_vector(cloner.getTaken()), {}});
}

void pp::buildForward(const TaskSources &sources, StageParts &stage,
                      OpBuilder &builder) {
  auto &[parts, sums, shared, crossings, calls] = sources;
  Block *block = stage.getForwardBlock();
  TaskBuilder task =
      beginTask(sources, stage, "F", TaskKind::Forward, stage.forward, builder);
  TaskCloner cloner(task, getForwardScope(parts, stage), shared);
  if (parts.makesLoss(stage))
    task.accumulate(getLossRole(builder.getContext()), cloner.get(parts.loss),
                    getResultSharding(parts));
  for (const EntryOutput &proposal : parts.getProposals(stage)) {
    auto role =
        RoleAttr::get(builder.getContext(), RoleKind::Proposal, proposal.name);
    ShardingAttr sharding = getResultSharding(parts, proposal.number);
    Value value = cloner.get(proposal.value);
    (void)task.getArgument(role, value.getType(), value.getLoc(), sharding);
    task.addResult(role, value, sharding);
  }
  SmallVector<Value> makes(crossings.exports.lookup(block).getArrayRef());
  for (Value value : makes)
    task.addResult(RoleAttr(), cloner.get(value), getShardingAttr(value));
  calls.push_back(
      {task.finish(), block, llvm::to_vector(cloner.getTaken()), makes});
  if (stage.evaluation && !parts.hasEvaluations())
    buildLoss(sources, stage, builder);
}

void pp::buildEvaluation(const TaskSources &sources, StageParts &stage,
                         OpBuilder &builder) {
  auto &[parts, sums, shared, crossings, calls] = sources;
  MLIRContext *context = builder.getContext();
  Block *block = stage.getForwardBlock();
  TaskBuilder task = beginTask(sources, stage, "E", TaskKind::Evaluation,
                               stage.forward, builder);
  TaskCloner cloner(task, getEvaluationScope(parts, stage), shared);
  if (&parts.getStageOfResult(parts.loss) == &stage)
    task.accumulate(getLossRole(context), cloner.get(parts.loss),
                    getResultSharding(parts));
  for (const EntryMetric &metric : parts.metrics)
    if (&parts.getStageOfResult(metric.value) == &stage)
      task.accumulate(RoleAttr::get(context,
                                    metric.isCount ? RoleKind::MetricCount
                                                   : RoleKind::Metric,
                                    metric.name),
                      cloner.get(metric.value),
                      getResultSharding(parts, metric.number));
  for (const EntryOutput &output : parts.outputs)
    if (&parts.getStageOfResult(output.value) == &stage)
      task.addResult(RoleAttr::get(context, RoleKind::Output, output.name),
                     cloner.get(output.value),
                     getResultSharding(parts, output.number));
  SmallVector<Value> makes(crossings.exports.lookup(block).getArrayRef());
  for (Value value : makes)
    task.addResult(RoleAttr(), cloner.get(value), getShardingAttr(value));
  calls.push_back(
      {task.finish(), block, llvm::to_vector(cloner.getTaken()), makes});
}

namespace {

/// A task of the backward of a stage.
struct BackwardPart {
  StringRef suffix;
  TaskKind kind;
  /// Computed in program order. Recomputed ops stand right before their first
  /// use.
  ArrayRef<Operation *> ops;
  /// Taken from other tasks when needed.
  ArrayRef<Value> taken;
  /// Returned, in addition to the region's exports.
  ArrayRef<Value> handedOn;
};

} // namespace

/// Returns the FLOPs of the ops that a task computes again.
static double countRecomputed(ArrayRef<Operation *> ops) {
  double flops = 0;
  for (Operation *op : ops)
    if (!isFree(op) && !isa<ElementOpInterface>(op))
      flops += estimateWork(op).flops;
  return flops;
}

/// Returns the share of a gradient that one tile adds.
static Value getShare(TaskBuilder &task, TaskCloner &cloner, AddGradOp add) {
  Value gradient = cloner.get(add.getGradient());
  std::optional<int64_t> tiles = add.getTiles();
  if (!tiles)
    return gradient;
  OpBuilder &builder = task.getBuilder();
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(gradient));
  Value share = ConstantOp::create(builder, gradient.getLoc(), type,
                                   1.0 / static_cast<double>(*tiles));
  return MulOp::create(builder, gradient.getLoc(), gradient, share);
}

static void buildPart(const TaskSources &sources, StageParts &stage,
                      const BackwardPart &part, OpBuilder &builder) {
  auto &[parts, sums, shared, crossings, calls] = sources;
  Block *body = stage.getBackwardBlock();
  TaskBuilder task = beginTask(sources, stage, part.suffix, part.kind,
                               stage.backward, builder);
  TaskCloner cloner(task, getBackwardScope(parts, stage, part.taken), shared);
  AddedGradients gradients(*body);
  for (Operation *op : part.ops) {
    // A view is computed where it is read: it may need a layer to be computed
    // first.
    if (op->getNumOperands() > 0 && isFree(op) &&
        gradients.of(op->getResult(0)).empty())
      continue;
    cloner.clone(op);
    for (Value result : op->getResults())
      for (AddGradOp add : gradients.of(result))
        task.accumulate(getGradRole(add), task.lookup(result),
                        getReadAttr(add, 1));
  }
  if (stage.evaluation && part.kind != TaskKind::BackwardWeight)
    task.accumulate(getLossRole(builder.getContext()),
                    cloner.get(parts.trainingLoss), getResultSharding(parts));
  // The weight part is last: gradients that no op of the region makes go there.
  if (part.kind != TaskKind::BackwardInput)
    for (AddGradOp add : gradients.others)
      task.accumulate(getGradRole(add), getShare(task, cloner, add),
                      getReadAttr(add, 1));
  llvm::SetVector<Value> results(part.handedOn.begin(), part.handedOn.end());
  if (part.kind != TaskKind::BackwardWeight)
    results.insert_range(crossings.exports.lookup(body));
  for (Value value : results)
    task.addResult(RoleAttr(), cloner.get(value), getShardingAttr(value));
  double recomputed = countRecomputed(cloner.getOnDemand());
  TaskOp made = task.finish();
  calls.push_back({made, body, llvm::to_vector(cloner.getTaken()),
                   llvm::to_vector(results)});
  if (recomputed > 0)
    made->setAttr(kRecomputedAttr,
                  builder.getI64IntegerAttr(static_cast<int64_t>(recomputed)));
}

void pp::buildBackward(const TaskSources &sources, StageParts &stage,
                       OpBuilder &builder) {
  const BackwardCrossings &backward = sources.crossings.backwards[stage.stage];
  ArrayRef<Operation *> all = backward.ops.getArrayRef();
  if (!backward.isSplit)
    return buildPart(
        sources, stage,
        {"B", TaskKind::Backward, all, backward.saved, /*handedOn=*/{}},
        builder);
  auto inputs = llvm::to_vector(llvm::make_filter_range(
      all, [&](Operation *op) { return !backward.weights.contains(op); }));
  buildPart(
      sources, stage,
      {"I", TaskKind::BackwardInput, inputs, backward.saved, backward.handedOn},
      builder);
  SmallVector<Value> taken(backward.saved);
  taken.append(backward.handedOn);
  buildPart(sources, stage,
            {"W", TaskKind::BackwardWeight, backward.weights.getArrayRef(),
             taken, /*handedOn=*/{}},
            builder);
}
