//===- StepIndex.cpp - The tasks and copies of a step ---------------------===//

#include "ppopt/Transforms/Scheduling/StepIndex.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::pp;

StepIndex::StepIndex(ModuleOp module) : copies(module) {
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    operands[task] = task.getBoundOperands();
  }
}

std::optional<int64_t> pp::getCopyId(Operation *action) {
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(action)
      .Case<SendOp, RecvOp>([](auto end) { return end.getCopy(); })
      .Case<CopyOp, CopyBucketOp>([](auto copy) { return copy.getId(); })
      .Default(std::nullopt);
}

std::optional<int64_t> pp::getMicrobatch(Operation *action) {
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(action)
      .Case<RunOp, SendOp, RecvOp, CopyOp>(
          [](auto op) { return std::optional<int64_t>(op.getMicrobatch()); })
      .Default(std::nullopt);
}

const StepCopy *StepIndex::getCopy(Operation *action) const {
  std::optional<int64_t> id = getCopyId(action);
  return id ? copies.find(*id) : nullptr;
}

int64_t StepIndex::getPlace(Operation *action) const {
  if (auto wait = dyn_cast<WaitOp>(action))
    if (Operation *start = wait.getStarted().getDefiningOp())
      return getPlace(start);
  return llvm::TypeSwitch<Operation *, int64_t>(action)
      .Case([&](RunOp run) { return getTask(run).getPlace(); })
      .Case([](StartOp start) { return start.getPlaceOfStart(); })
      .Case<CopyOp, CopyBucketOp>([](auto copy) { return copy.getTo(); })
      .Default([](Operation *other) {
        return cast<ScheduleOp>(other->getParentOp()).getPlace();
      });
}

LogicalResult pp::checkCopies(ModuleOp module, const StepIndex &index) {
  for (auto schedule : module.getOps<ScheduleOp>())
    for (Operation &action : schedule.getBody().front())
      if (std::optional<int64_t> id = getCopyId(&action);
          id && !index.getCopies().find(*id))
        return action.emitOpError("is of copy ")
               << *id << ", which the step does not make";
  return success();
}
