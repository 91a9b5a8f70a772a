//===- SplitTasks.cpp - Splits the entry into isolated tasks --------------===//
//
// Before: the entry on local shapes, with a forward region per stage, a
// backward region where something learns, and copies between them. After:
// declarations of the parameters; tasks whose signatures name everything that
// they need, sS_F and sS_B of stage S (or sS_I and sS_W if the schedule splits
// the backward), sS_E if evaluations compute other values than training, and
// pP_P if place P sums inputs over the batch; and pp.step, which calls them on
// values, with the copies.
//
// Pure functions decide: BatchSums which sums prologues compute, Crossings
// which values tasks hand to one another (SavedValues what is saved of the
// forward, WeightPart how a backward is split). Then Prologues and StageTasks
// build the tasks, and StepWriter the step.
//
//===----------------------------------------------------------------------===//

#include "StageTasks.h"

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITTASKS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

LogicalResult checkCopies(EntryParts &parts) {
  for (CopyOp copy : parts.copies)
    if (!copy.getX().getDefiningOp<PlaceOp>())
      return copy.emitOpError("copies a value that no stage makes");
  return success();
}

/// Removes the checkpoints and returns the values that they mark.
DenseSet<Value> takeMarks(func::FuncOp entry) {
  DenseSet<Value> marked;
  entry.walk([&](CheckpointOp mark) {
    marked.insert(throughPlace(mark.getX()));
    mark.replaceAllUsesWith(mark.getX());
    mark.erase();
  });
  return marked;
}

/// Declares the parameters for the module, which outlive the entry.
void declareParameters(EntryParts &parts, OpBuilder &builder) {
  llvm::MapVector<StringRef, SmallVector<ParamOp>> copies;
  func::FuncOp entry = parts.entry;
  for (auto param : entry.getOps<ParamOp>())
    copies[param.getParamName()].push_back(param);
  llvm::StringSet<> learning;
  entry.walk([&](AddGradOp add) {
    learning.insert(add.getParam().getDefiningOp<ParamOp>().getParamName());
  });
  for (auto &[name, params] : copies) {
    ParamOp param = params.front();
    SmallVector<int64_t> places;
    for (ParamOp copy : params)
      places.push_back(copy.getPlace().value_or(0));
    llvm::sort(places);
    ParamDeclOp decl =
        declareParam(builder, param, learning.contains(name), places);
    if (ShardingAttr sharding = getShardingAttr(param))
      decl->setAttr(kShardingAttr, sharding);
  }
}

struct SplitTasks : pp::impl::SplitTasksBase<SplitTasks> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<EntryParts> parts = findParts(*entry);
    if (failed(parts) || failed(checkCopies(*parts)))
      return signalPassFailure();

    DenseSet<Value> marked = takeMarks(*entry);
    BatchSums sums(*parts);
    SharedValues shared(*entry, sums);
    OpBuilder builder(*entry);
    declareParameters(*parts, builder);
    auto step = StepOp::create(builder, entry->getLoc());
    ModeSwitch modes(*entry);
    Operation *first = step; // of evaluation's tasks, which come last
    if (parts->hasEvaluations()) {
      modes.setEvaluation();
      if (failed(parts = findParts(*entry)))
        return signalPassFailure();
      first = splitEvaluation(*parts, sums, shared, step);
    }
    modes.setTraining();
    if (failed(parts = findParts(*entry)))
      return signalPassFailure();
    builder.setInsertionPoint(first);
    splitTraining(*parts, sums, shared,
                  findCrossings(*parts, *plan, shared, marked), step, builder);
    entry->erase();
  }

private:
  static Operation *splitEvaluation(EntryParts &parts, const BatchSums &sums,
                                    const SharedValues &shared, StepOp step);
  static void splitTraining(EntryParts &parts, const BatchSums &sums,
                            const SharedValues &shared,
                            const Crossings &crossings, StepOp step,
                            OpBuilder &builder);
};

} // namespace

/// Builds the tasks of evaluation; returns the first.
Operation *SplitTasks::splitEvaluation(EntryParts &parts, const BatchSums &sums,
                                       const SharedValues &shared,
                                       StepOp step) {
  OpBuilder builder(step);
  Crossings crossings = findEvaluationCrossings(parts, shared);
  SmallVector<TaskCall> calls;
  TaskSources sources{parts, sums, shared, crossings, calls};
  for (StageParts &stage : parts.stages)
    buildEvaluation(sources, stage, builder);
  writeStep(step, parts, calls);
  return calls.front().task;
}

void SplitTasks::splitTraining(EntryParts &parts, const BatchSums &sums,
                               const SharedValues &shared,
                               const Crossings &crossings, StepOp step,
                               OpBuilder &builder) {
  SmallVector<TaskCall> calls;
  TaskSources sources{parts, sums, shared, crossings, calls};
  buildPrologues(sources, builder);
  for (StageParts &stage : parts.stages)
    buildForward(sources, stage, builder);
  for (StageParts &stage : llvm::reverse(parts.stages))
    if (stage.backward)
      buildBackward(sources, stage, builder);
  writeStep(step, parts, calls);
}
