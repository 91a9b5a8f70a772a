//===- BucketWaits.cpp - Waits for copies of borrowed buckets -------------===//

#include "BucketWaits.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class BucketWaits {
public:
  BucketWaits(ScheduleOp schedule, const StepIndex &index)
      : schedule(schedule), index(index) {}

  void move();

private:
  void scan();
  Operation *findReader(WaitOp wait, const StepCopy &copy);

  ScheduleOp schedule;
  const StepIndex &index;
  Operation *decide = nullptr;
  /// The first run that reads parameters of a bucket.
  llvm::StringMap<Operation *> readers;
  SmallVector<std::pair<WaitOp, const StepCopy *>> waits;
};

} // namespace

void BucketWaits::scan() {
  llvm::StringMap<StringRef> bucketOf; // by parameter
  for (auto bucket : schedule->getParentOfType<ModuleOp>().getOps<BucketOp>())
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = bucket.getSymName();
  for (Operation &action : schedule.getBody().front()) {
    if (auto wait = dyn_cast<WaitOp>(action)) {
      Operation *start = wait.getStarted().getDefiningOp();
      const StepCopy *copy = nullptr;
      if (auto send = dyn_cast_or_null<SendOp>(start))
        copy = index.getCopy(send);
      else if (auto recv = dyn_cast_or_null<RecvOp>(start))
        copy = index.getCopy(recv);
      if (copy && copy->isOfStep())
        waits.emplace_back(wait, copy);
      continue;
    }
    auto run = dyn_cast<RunOp>(action);
    TaskOp task = run ? index.getTask(run) : TaskOp();
    if (!task)
      continue;
    if (task.getKind() == TaskKind::Decide)
      decide = run;
    for (const TaskOperand &operand : index.getOperands(task)) {
      StringRef name = operand.role.getName();
      if (operand.role.getKind() == RoleKind::Param)
        name = bucketOf.lookup(name);
      else if (operand.role.getKind() != RoleKind::ParamRange)
        continue;
      readers.try_emplace(name, run);
    }
  }
}

/// Returns the action before which an end of a copy is waited for; null for the
/// end of the list.
Operation *BucketWaits::findReader(WaitOp wait, const StepCopy &copy) {
  bool isGradient = copy.gradientOf.has_value();
  if (wait.getStarted().getDefiningOp<SendOp>())
    return isGradient ? nullptr : decide; // parameters are updated after it
  if (!isGradient) {
    Operation *reader = readers.lookup(copy.value);
    return reader ? reader : decide;
  }
  Operation *first = nullptr;
  for (Operation *user : wait.getValue().getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first ? first : decide;
}

void BucketWaits::move() {
  scan();
  for (auto &[wait, copy] : waits) {
    if (Operation *reader = findReader(wait, *copy))
      wait->moveBefore(reader);
    else
      wait->moveBefore(wait->getBlock(), wait->getBlock()->end());
  }
}

void pp::moveBucketWaits(ScheduleOp schedule, const StepIndex &index) {
  BucketWaits(schedule, index).move();
}
