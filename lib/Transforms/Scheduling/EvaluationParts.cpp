//===- EvaluationParts.cpp - What an evaluation repeats -------------------===//

#include "ppopt/Transforms/Scheduling/EvaluationParts.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

SmallVector<std::pair<Operation *, EvaluationUse>>
pp::getEvaluationUses(ScheduleOp schedule, const StepIndex &index) {
  auto getUse = [&](Operation &action) {
    if (isa<ZeroOp, StartOp>(action))
      return EvaluationUse::Once;
    if (auto wait = dyn_cast<WaitOp>(action))
      return wait.getStarted().getDefiningOp<StartOp>()
                 ? EvaluationUse::Once
                 : EvaluationUse::Forward;
    auto run = dyn_cast<RunOp>(action);
    return run && index.getTask(run).getKind() == TaskKind::Prologue
               ? EvaluationUse::Prologue
               : EvaluationUse::Forward;
  };
  SmallVector<std::pair<Operation *, EvaluationUse>> all;
  for (Operation &action : schedule.getBody().front())
    if (!isa<DoneOp, YieldOp>(action))
      all.emplace_back(&action, getUse(action));
  return all;
}

FailureOr<SmallVector<Operation *>>
pp::findEvaluationParts(ScheduleOp schedule, const StepIndex &index) {
  SmallVector<Operation *> firsts;
  // The last action that the part repeats: its use, and its task.
  EvaluationUse last = EvaluationUse::Once;
  TaskOp prologue;
  Operation *forwards = nullptr;
  for (auto [action, use] : getEvaluationUses(schedule, index)) {
    auto run = dyn_cast<RunOp>(action);
    TaskOp task = run ? index.getTask(run) : TaskOp();
    bool repeatsOther =
        last != EvaluationUse::Once &&
        (use != last || (use == EvaluationUse::Prologue && task != prologue));
    if (firsts.empty() || repeatsOther) {
      firsts.push_back(action);
      last = EvaluationUse::Once;
    }
    if (use == EvaluationUse::Once)
      continue;
    if (use == EvaluationUse::Forward && last == EvaluationUse::Once) {
      if (forwards)
        return action->emitOpError(
                   "of an evaluation is done for each batch, and stands apart "
                   "from those before it: what is done once for all batches is "
                   "between them"),
               failure();
      forwards = action;
    }
    last = use;
    prologue = task;
  }
  return firsts;
}
