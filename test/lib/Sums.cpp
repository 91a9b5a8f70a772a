//===- Sums.cpp - Sums and gathers of schedules, for mutations ------------===//

#include "Sums.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

using namespace mlir;
using namespace mlir::pp;

SmallVector<ScheduledSum> pp::findSums(ScheduleOp schedule) {
  SmallVector<ScheduledSum> sums;
  DenseMap<BufferAttr, unsigned> known;
  DenseMap<Value, unsigned> open; // by token
  for (Operation &action : schedule.getBody().front()) {
    if (auto start = dyn_cast<StartOp>(action)) {
      auto [it, isNew] = known.try_emplace(start.getBuffer(), sums.size());
      if (isNew)
        sums.push_back({start.getBuffer(), {}});
      open[start.getToken()] = it->second;
      sums[it->second].actions.push_back(&action);
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      if (auto found = open.find(wait.getStarted()); found != open.end())
        sums[found->second].actions.push_back(&action);
    }
  }
  return sums;
}

SmallVector<ScheduledGather> pp::findGathers(ModuleOp module) {
  SmallVector<ScheduledGather> gathers;
  for (auto training : module.getOps<ScheduleOp>()) {
    if (training.getEvaluation())
      continue;
    for (auto [number, token] : llvm::enumerate(training.getYielded())) {
      gathers.push_back({token.getDefiningOp<StartOp>(), {}});
      ScheduledGather &gather = gathers.back();
      for (auto schedule : module.getOps<ScheduleOp>())
        if (schedule.getPlace() == training.getPlace())
          for (Operation *user :
               schedule.getBody().getArgument(number).getUsers())
            gather.waits.push_back(cast<WaitOp>(user));
    }
  }
  return gathers;
}

void pp::erase(const ScheduledGather &gather) {
  // Nothing is left in flight under its number.
  StartOp start = gather.start;
  unsigned number = 0;
  Operation *yield = *start.getToken().user_begin();
  while (yield->getOperand(number) != start.getToken())
    ++number;
  for (WaitOp wait : gather.waits) {
    Block *body = wait->getBlock();
    wait->erase();
    Operation *left = body->back().getOperand(number).getDefiningOp();
    body->back().eraseOperand(number);
    left->erase();
    body->eraseArgument(number);
  }
}

void pp::erase(const ScheduledSum &sum) {
  for (Operation *action : llvm::reverse(sum.actions))
    action->erase(); // waits before their starts
}

Operation *pp::moveAfter(const ScheduledSum &sum, Operation *last) {
  for (Operation *action : sum.actions) {
    action->moveAfter(last);
    last = action;
  }
  return last;
}

Operation *pp::findLastDecision(ScheduleOp schedule) {
  StepIndex index(schedule->getParentOfType<ModuleOp>());
  Operation *last = nullptr;
  for (auto run : schedule.getBody().getOps<RunOp>())
    if (index.getTask(run).getKind() == TaskKind::Decide)
      last = run;
  return last;
}
