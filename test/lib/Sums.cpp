//===- Sums.cpp - The sums of a schedule, for mutations -------------------===//

#include "Sums.h"

#include "ppopt/Transforms/Scheduling/SlotUses.h"

using namespace mlir;
using namespace mlir::pp;

SmallVector<ScheduledSum> pp::findSums(ScheduleOp schedule) {
  SmallVector<ScheduledSum> sums;
  DenseMap<Attribute, unsigned> known; // by `what`
  DenseMap<int64_t, unsigned> open;    // by the ids of starts
  for (Operation &action : schedule.getBody().front()) {
    if (auto start = dyn_cast<StartOp>(action)) {
      auto [it, isNew] = known.try_emplace(start.getWhat(), sums.size());
      if (isNew)
        sums.push_back({start.getWhat(), {}});
      open[start.getId()] = it->second;
      sums[it->second].actions.push_back(&action);
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      if (auto found = open.find(wait.getId()); found != open.end())
        sums[found->second].actions.push_back(&action);
    }
  }
  return sums;
}

void pp::erase(const ScheduledSum &sum) {
  for (Operation *action : sum.actions)
    action->erase();
}

Operation *pp::moveAfter(const ScheduledSum &sum, Operation *last) {
  for (Operation *action : sum.actions) {
    action->moveAfter(last);
    last = action;
  }
  return last;
}

Operation *pp::findLastDecision(ScheduleOp schedule) {
  SlotUses uses(schedule->getParentOfType<ModuleOp>());
  Operation *last = nullptr;
  for (auto run : schedule.getBody().getOps<RunOp>())
    if (uses.getTask(run).getKind() == TaskKind::Decide)
      last = run;
  return last;
}
