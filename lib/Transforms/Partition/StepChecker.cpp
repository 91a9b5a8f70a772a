//===- StepChecker.cpp - Checks a step against its tasks ------------------===//

#include "StepChecker.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

using namespace mlir;
using namespace mlir::pp;

StepChecker::StepChecker(ModuleOp module, int64_t places)
    : module(module), places(places) {
  for (auto task : module.getOps<TaskOp>())
    tasks[task.getSymName()] = task;
  for (auto bucket : module.getOps<BucketOp>())
    buckets[bucket.getSymName()] = bucket;
}

void pp::spell(InFlightDiagnostic &diag, ShardingAttr sharding) {
  if (sharding)
    diag << sharding;
  else
    diag << "the same on all ranks";
}

/// How ranks cut a value of one microbatch: nothing says whether it is cut over
/// them too, or computed with the rows of one (pp.per_microbatch).
static ShardingAttr getCutOfRanks(ShardingAttr sharding) {
  if (!sharding)
    return sharding;
  auto cuts = llvm::filter_to_vector(sharding.getCuts(), [](const DimCut &cut) {
    return cut.axis != kMicrobatchAxis;
  });
  auto ofRanks =
      ShardingAttr::get(sharding.getContext(), sharding.getRank(), cuts,
                        sharding.getSums(), sharding.getMaxima());
  return ofRanks.isWhole() ? ShardingAttr() : ofRanks;
}

LogicalResult StepChecker::checkOperand(CallOp call, TaskOp task,
                                        unsigned argument, Value operand) {
  const Known &value = known[operand];
  if (value.place != task.getPlace())
    return call.emitOpError("gives ")
           << call.getTaskAttr() << ", on place " << task.getPlace()
           << ", a value of place " << value.place;
  auto taken = task.getArgAttrOfType<ShardingAttr>(argument, kShardingAttr);
  if (getCutOfRanks(taken) == getCutOfRanks(value.sharding))
    return success();
  InFlightDiagnostic diag = call.emitOpError("gives ")
                            << call.getTaskAttr() << " a value that is ";
  spell(diag, value.sharding);
  diag << ", and the task takes ";
  spell(diag, taken);
  return diag;
}

LogicalResult StepChecker::check(CallOp call, ArrayRef<TaskKind> kinds) {
  TaskOp task = tasks.lookup(call.getTask());
  if (!llvm::is_contained(kinds, task.getKind()))
    return call.emitOpError("calls ")
           << call.getTaskAttr() << ", whose kind belongs elsewhere";
  if (!called.insert(task).second)
    return call.emitOpError("calls ") << call.getTaskAttr() << " again";
  for (auto [argument, operand] :
       llvm::zip(task.getValueArguments(), call.getValues()))
    if (failed(checkOperand(call, task, argument, operand)))
      return failure();
  for (auto [number, result] :
       llvm::zip(task.getValueResults(), call.getResults()))
    known[result] = {task.getPlace(), task.getResultAttrOfType<ShardingAttr>(
                                          number, kShardingAttr)};
  return success();
}

LogicalResult StepChecker::checkPlaces(Operation *copy, int64_t from,
                                       int64_t to) {
  for (int64_t place : {from, to})
    if (place < 0 || place >= places)
      return copy->emitOpError("is on place ")
             << place << ", and the plan has " << places;
  return success();
}

LogicalResult StepChecker::check(CopyOp copy) {
  if (failed(checkPlaces(copy, copy.getFrom(), copy.getTo())))
    return failure();
  Known value = known[copy.getX()];
  if (value.place != copy.getFrom())
    return copy.emitOpError("copies from place ")
           << copy.getFrom() << " a value of place " << value.place;
  if (copy->use_empty())
    return copy.emitOpError("brings a value that nothing reads");
  known[copy] = {copy.getTo(), value.sharding};
  return success();
}

/// Checks that a bucket's parameters go to a place that borrows it, or its
/// gradients come back to a task that adds them.
LogicalResult StepChecker::check(CopyBucketOp copy) {
  if (failed(checkPlaces(copy, copy.getFrom(), copy.getTo())))
    return failure();
  bool isGradient = copy.getGradientOf().has_value();
  int64_t owner = copy.getFrom(), borrower = copy.getTo();
  if (isGradient)
    std::swap(owner, borrower);
  BucketOp bucket = buckets.lookup(copy.getBucket());
  if (bucket.getPlaces().front() != owner ||
      !llvm::is_contained(bucket.getBorrowers(), borrower))
    return copy.emitOpError("is of ")
           << copy.getBucketAttr() << ", which place " << borrower
           << " does not borrow from place " << owner;
  if (!isGradient)
    return success();
  auto type =
      RankedTensorType::get({bucket.getElements()}, getGradType(bucket));
  if (copy.getGradients().getType() != type)
    return copy.emitOpError("brings ") << copy.getGradients().getType()
                                       << ", and the gradients are " << type;
  if (copy->use_empty())
    return copy.emitOpError("brings gradients that no task adds");
  known[copy.getGradients()] = {copy.getTo(), ShardingAttr()};
  return success();
}

LogicalResult StepChecker::checkRegion(Region &region,
                                       ArrayRef<TaskKind> kinds) {
  called.clear();
  known.clear();
  for (Operation &op : region.getOps()) {
    LogicalResult result = success();
    if (auto call = dyn_cast<CallOp>(op))
      result = check(call, kinds);
    else if (auto copy = dyn_cast<CopyOp>(op))
      result = check(copy);
    else
      result = check(cast<CopyBucketOp>(op));
    if (failed(result))
      return failure();
  }
  for (auto task : module.getOps<TaskOp>())
    if (llvm::is_contained(kinds, task.getKind()) && !called.contains(task))
      return task.emitOpError("is not called by the step");
  return success();
}

LogicalResult StepChecker::check(StepOp step) {
  using Kind = TaskKind;
  auto checkAll = [&](Region &region, ArrayRef<Kind> kinds) {
    return succeeded(checkRegion(region, kinds));
  };
  // A program that generates has an evaluation alone.
  bool trains =
      !step.getMicrobatch().empty() ||
      llvm::any_of(module.getOps<TaskOp>(), [](TaskOp task) {
        return task.getKind() != Kind::Forward && task.getKind() != Kind::Loss;
      });
  bool hasEvaluations = llvm::any_of(module.getOps<TaskOp>(), [](TaskOp task) {
    return task.getKind() == Kind::Evaluation;
  });
  SmallVector<Kind> evaluations{Kind::Forward, Kind::Loss};
  if (hasEvaluations)
    evaluations = {Kind::Evaluation};
  return success(
      checkAll(step.getPrologue(), {Kind::Prologue}) &&
      checkAll(step.getBegin(), {Kind::Open}) &&
      (!trains || checkAll(step.getMicrobatch(),
                           {Kind::Forward, Kind::Backward, Kind::BackwardInput,
                            Kind::BackwardWeight})) &&
      checkAll(step.getEvaluation(), evaluations) &&
      checkAll(step.getEnd(), {Kind::Collect, Kind::Norm, Kind::Decide,
                               Kind::Update, Kind::Commit}) &&
      checkAll(step.getAverage(), {Kind::Average}));
}
