//===- SlotLifetimes.cpp - How long values are in slots -------------------===//

#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

Value pp::getHolder(Value value) {
  auto wait = value.getDefiningOp<WaitOp>();
  return wait ? wait.getStarted() : value;
}

std::optional<int64_t> pp::getSlot(Value holder) {
  Operation *action = holder.getDefiningOp();
  if (auto recv = dyn_cast<RecvOp>(action))
    return recv.getSlot();
  if (auto copy = dyn_cast<CopyOp>(action))
    return copy.getSlot();
  if (auto copy = dyn_cast<CopyBucketOp>(action))
    return copy.getSlot();
  std::optional<ArrayRef<int64_t>> slots = cast<RunOp>(action).getSlots();
  if (!slots)
    return std::nullopt;
  return (*slots)[cast<OpResult>(holder).getResultNumber()];
}

SmallVector<Value> pp::getHolders(Operation *action) {
  if (isa<RunOp, CopyOp, CopyBucketOp>(action))
    return llvm::to_vector_of<Value>(action->getResults());
  if (auto recv = dyn_cast<RecvOp>(action);
      recv && isa<FutureType>(recv.getStarted().getType()))
    return {recv.getStarted()};
  return {};
}

Type pp::getValueType(Value holder) {
  auto future = dyn_cast<FutureType>(holder.getType());
  return future ? future.getValue() : holder.getType();
}

SmallVector<SlotLifetime> pp::findLifetimes(ScheduleOp schedule,
                                            const StepIndex &index) {
  SmallVector<SlotLifetime> lifetimes;
  int64_t alignment = getBufferAlignment(schedule);
  DenseMap<Value, unsigned> known;
  unsigned position = 0;
  auto use = [&](Value value) {
    auto found = known.find(getHolder(value));
    if (found != known.end())
      lifetimes[found->second].end = position;
  };
  for (Operation &action : schedule.getBody().front()) {
    for (Value operand : action.getOperands())
      use(operand);
    // What a send reads is in its slot until its wait.
    if (auto wait = dyn_cast<WaitOp>(action)) {
      use(wait.getStarted());
      if (auto send = wait.getStarted().getDefiningOp<SendOp>();
          send && send.getValue())
        use(send.getValue());
    }
    for (Value holder : getHolders(&action)) {
      known[holder] = lifetimes.size();
      lifetimes.push_back({holder, index.getPlace(&action),
                           getAlignedBytes(getValueType(holder), alignment),
                           position, position});
    }
    ++position;
  }
  return lifetimes;
}

DenseMap<Operation *, DenseSet<unsigned>>
pp::findDyingArguments(ModuleOp module) {
  DenseMap<Operation *, DenseSet<unsigned>> dying, living;
  StepIndex index(module);
  for (auto schedule : module.getOps<ScheduleOp>()) {
    DenseMap<Value, unsigned> ends; // by holder
    for (const SlotLifetime &life : findLifetimes(schedule, index))
      ends[life.holder] = life.end;
    for (auto [position, action] :
         llvm::enumerate(schedule.getBody().front())) {
      auto run = dyn_cast<RunOp>(action);
      if (!run)
        continue;
      TaskOp task = index.getTask(run);
      for (auto [number, value] :
           llvm::zip(task.getValueArguments(), run.getValues())) {
        bool isLast = ends.lookup(getHolder(value)) == position;
        (isLast ? dying : living)[task].insert(number);
      }
    }
  }
  for (auto &[task, arguments] : living)
    for (unsigned number : arguments)
      dying[task].erase(number);
  return dying;
}
