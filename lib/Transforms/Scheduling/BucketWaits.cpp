//===- BucketWaits.cpp - Waits for copies of borrowed buckets -------------===//

#include "BucketWaits.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class BucketWaits {
public:
  BucketWaits(ScheduleOp schedule, const StepIndex &index,
              const MemoryUses &uses)
      : schedule(schedule), index(index), uses(uses) {}

  void move();

private:
  void scan();
  Operation *findReader(WaitOp wait, const StepCopy &copy);

  ScheduleOp schedule;
  const StepIndex &index;
  const MemoryUses &uses;
  Operation *decide = nullptr;
  /// The first run that uses a buffer.
  DenseMap<BufferAttr, Operation *> readers;
  SmallVector<std::pair<WaitOp, const StepCopy *>> waits;
};

} // namespace

void BucketWaits::scan() {
  for (Operation &action : schedule.getBody().front()) {
    if (auto wait = dyn_cast<WaitOp>(action)) {
      Operation *start = wait.getStarted().getDefiningOp();
      const StepCopy *copy = start ? index.getCopy(start) : nullptr;
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
    for (const MemoryUse &use : uses.of(task))
      readers.try_emplace(use.buffer, run);
  }
}

/// Returns the action before which an end of a copy is waited for; null for the
/// end of the list.
Operation *BucketWaits::findReader(WaitOp wait, const StepCopy &copy) {
  bool isGradient = copy.gradientOf.has_value();
  if (wait.getStarted().getDefiningOp<SendOp>())
    return isGradient ? nullptr : decide; // parameters are updated after it
  if (!isGradient) {
    Operation *reader = readers.lookup(copy.getBuffer());
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

void pp::moveBucketWaits(ScheduleOp schedule, const StepIndex &index,
                         const MemoryUses &uses) {
  BucketWaits(schedule, index, uses).move();
}
