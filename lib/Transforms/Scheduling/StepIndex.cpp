//===- StepIndex.cpp - The tasks and copies of a step ---------------------===//

#include "ppopt/Transforms/Scheduling/StepIndex.h"

using namespace mlir;
using namespace mlir::pp;

StepIndex::StepIndex(ModuleOp module) : copies(module) {
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    operands[task] = task.getBoundOperands();
  }
}

int64_t StepIndex::getPlace(Operation *action) const {
  if (auto run = dyn_cast<RunOp>(action))
    return getTask(run).getPlace();
  if (auto start = dyn_cast<StartOp>(action))
    return start.getPlaceOfStart();
  if (auto copy = dyn_cast<CopyOp>(action))
    return copy.getTo();
  if (auto copy = dyn_cast<CopyBucketOp>(action))
    return copy.getTo();
  if (auto wait = dyn_cast<WaitOp>(action))
    if (Operation *start = wait.getStarted().getDefiningOp())
      return getPlace(start);
  return cast<ScheduleOp>(action->getParentOp()).getPlace();
}

LogicalResult pp::checkCopies(ModuleOp module, const StepIndex &index) {
  auto check = [&](Operation &action, int64_t copy) -> LogicalResult {
    if (index.getCopies().find(copy))
      return success();
    return action.emitOpError("is of copy ")
           << copy << ", which the step does not make";
  };
  for (auto schedule : module.getOps<ScheduleOp>())
    for (Operation &action : schedule.getBody().front()) {
      LogicalResult result = success();
      if (auto send = dyn_cast<SendOp>(action))
        result = check(action, send.getCopy());
      else if (auto recv = dyn_cast<RecvOp>(action))
        result = check(action, recv.getCopy());
      else if (auto copy = dyn_cast<CopyOp>(action))
        result = check(action, copy.getId());
      else if (auto copy = dyn_cast<CopyBucketOp>(action))
        result = check(action, copy.getId());
      if (failed(result))
        return failure();
    }
  return success();
}
