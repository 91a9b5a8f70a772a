//===- Sums.cpp - Sums and gathers of schedules, for mutations ------------===//

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

SmallVector<ScheduledGather> pp::findGathers(ModuleOp module) {
  SmallVector<ScheduledGather> gathers;
  DenseMap<std::pair<int64_t, int64_t>, unsigned> known; // by place and id
  module.walk([&](StartOp start) {
    auto schedule = start->getParentOfType<ScheduleOp>();
    if (!start.gathersParameters() || schedule.isLocal())
      return;
    known[{schedule.getPlace(), start.getId()}] = gathers.size();
    gathers.push_back({start, {}});
  });
  module.walk([&](WaitOp wait) {
    if (!wait.getCarried())
      return;
    int64_t place = wait->getParentOfType<ScheduleOp>().getPlace();
    if (auto found = known.find({place, wait.getId()}); found != known.end())
      gathers[found->second].waits.push_back(wait);
  });
  return gathers;
}

void pp::erase(const ScheduledGather &gather) {
  gather.start->erase();
  for (WaitOp wait : gather.waits)
    wait->erase();
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
