//===- AssignSlots.cpp - Colours lifetimes of values into slots -----------===//
//
// Before: values of schedules have no slots. After: each has the number of its
// slot. The schedule has the sizes of the slots and, if it is local, their
// places.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class SlotAssigner {
public:
  SlotAssigner(ScheduleOp schedule, const StepIndex &index)
      : schedule(schedule), index(index) {}
  void run();

private:
  void colour(ArrayRef<SlotLifetime> lifetimes);
  void setSlots();

  ScheduleOp schedule;
  const StepIndex &index;
  DenseMap<Value, int64_t> colours; ///< by holder
  SmallVector<int64_t> slots, places;
};

/// Colours in order of birth. A slot is free again after the last use of its
/// value, but only for values of the same place and size. So there are as many
/// slots of a size as values of it live at once, and a step of many
/// microbatches needs no more than one of few.
void SlotAssigner::colour(ArrayRef<SlotLifetime> lifetimes) {
  SmallVector<std::pair<unsigned, const SlotLifetime *>> byEnd;
  for (const SlotLifetime &life : lifetimes)
    byEnd.push_back({life.end, &life});
  llvm::sort(byEnd);
  // Free slots by place and size.
  DenseMap<std::pair<int64_t, int64_t>, SmallVector<int64_t>> free;
  const auto *next = byEnd.begin();
  for (const SlotLifetime &life : lifetimes) {
    for (; next->first < life.begin; ++next) {
      const SlotLifetime &ended = *next->second;
      free[{ended.place, ended.bytes}].push_back(colours.lookup(ended.holder));
    }
    SmallVector<int64_t> &candidates = free[{life.place, life.bytes}];
    int64_t slot = slots.size();
    if (candidates.empty()) {
      slots.push_back(life.bytes);
      places.push_back(life.place);
    } else {
      slot = candidates.pop_back_val();
    }
    colours[life.holder] = slot;
  }
}

void SlotAssigner::setSlots() {
  for (Operation &action : schedule.getBody().front()) {
    SmallVector<int64_t> numbers;
    for (Value holder : getHolders(&action))
      numbers.push_back(colours.lookup(holder));
    if (numbers.empty())
      continue;
    if (auto run = dyn_cast<RunOp>(action))
      run.setSlots(numbers);
    else if (auto recv = dyn_cast<RecvOp>(action))
      recv.setSlot(numbers.front());
    else if (auto copy = dyn_cast<CopyOp>(action))
      copy.setSlot(numbers.front());
    else
      cast<CopyBucketOp>(action).setSlot(numbers.front());
  }
}

void SlotAssigner::run() {
  colour(findLifetimes(schedule, index));
  setSlots();
  schedule.setSlots(slots);
  if (schedule.isLocal())
    schedule.setSlotPlaces(places);
}

struct AssignSlots : pp::impl::AssignSlotsBase<AssignSlots> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      SlotAssigner(schedule, index).run();
  }
};

} // namespace
