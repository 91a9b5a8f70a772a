//===- AssignSlots.cpp - Colours lifetimes of values into slots -----------===//
//
// Before: runs name tasks, transfers name values. After: each says in which
// slot the saved and received values lie that it uses; the schedule has the
// slots' sizes and, where it is local, their places.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Ends each life one run early, so that the run before its last reader may
/// write over it: the bug that --plant=slot-too-early asks for.
void endTooEarly(MutableArrayRef<SlotLifetime> lifetimes, ScheduleOp schedule) {
  SmallVector<unsigned> runBefore; // of each action
  unsigned last = 0;
  for (auto [position, action] : llvm::enumerate(schedule.getBody().front())) {
    runBefore.push_back(last);
    if (isa<RunOp>(action))
      last = position;
  }
  for (SlotLifetime &life : lifetimes)
    life.end = std::max(life.begin, std::max(runBefore[life.end], 1u) - 1);
}

class SlotAssigner {
public:
  SlotAssigner(ScheduleOp schedule, const SlotUses &uses)
      : schedule(schedule), uses(uses) {}
  void run(bool isTooEarly);

private:
  void colour(ArrayRef<SlotLifetime> lifetimes);
  void setSlots();
  int64_t slotOf(const SlotUse &use, int64_t microbatch) const {
    constexpr int64_t kNoSlot = -1;
    return liesInSlot(use.role) ? colours.lookup({use.role, microbatch})
                                : kNoSlot;
  }

  ScheduleOp schedule;
  const SlotUses &uses;
  DenseMap<std::pair<Attribute, int64_t>, int64_t> colours;
  SmallVector<int64_t> slots, places;
};

/// In order of birth. A slot frees after the last use of its value, for values
/// of the same place and size only: there are then as many slots of a size as
/// values of it live at once, and a step of many microbatches needs no more
/// than one of few.
void SlotAssigner::colour(ArrayRef<SlotLifetime> lifetimes) {
  SmallVector<std::pair<unsigned, const SlotLifetime *>> byEnd;
  for (const SlotLifetime &life : lifetimes)
    byEnd.push_back({life.end, &life});
  llvm::sort(byEnd);
  // By place and size.
  DenseMap<std::pair<int64_t, int64_t>, SmallVector<int64_t>> free;
  const auto *next = byEnd.begin();
  for (const SlotLifetime &life : lifetimes) {
    for (; next->first < life.begin; ++next) {
      const SlotLifetime &ended = *next->second;
      free[{ended.place, ended.bytes}].push_back(
          colours.lookup({ended.role, ended.microbatch}));
    }
    SmallVector<int64_t> &candidates = free[{life.place, life.bytes}];
    int64_t slot = slots.size();
    if (candidates.empty()) {
      slots.push_back(life.bytes);
      places.push_back(life.place);
    } else {
      slot = candidates.pop_back_val();
    }
    colours[{life.role, life.microbatch}] = slot;
  }
}

void SlotAssigner::setSlots() {
  Builder builder(schedule.getContext());
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      SmallVector<NamedAttribute> named;
      for (const SlotUse &use : uses.of(run))
        named.push_back(builder.getNamedAttr(
            use.role.getName(),
            builder.getI64IntegerAttr(slotOf(use, run.getMicrobatch()))));
      run.setSlotsAttr(builder.getDictionaryAttr(named));
    } else if (auto send = dyn_cast<SendOp>(action)) {
      send.setSlot(slotOf(uses.of(send), send.getMicrobatch()));
    } else if (auto recv = dyn_cast<RecvOp>(action)) {
      recv.setSlot(slotOf(uses.of(recv), recv.getMicrobatch()));
    } else if (auto copy = dyn_cast<CopyValueOp>(action)) {
      auto [read, write] = uses.of(copy);
      copy.setFromSlot(slotOf(read, copy.getMicrobatch()));
      copy.setToSlot(slotOf(write, copy.getMicrobatch()));
    }
  }
}

void SlotAssigner::run(bool isTooEarly) {
  SmallVector<SlotLifetime> lifetimes = findLifetimes(schedule, uses);
  if (isTooEarly)
    endTooEarly(lifetimes, schedule);
  colour(lifetimes);
  setSlots();
  schedule.setSlots(slots);
  if (schedule.isLocal())
    schedule.setSlotPlaces(places);
}

struct AssignSlots : pp::impl::AssignSlotsBase<AssignSlots> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    bool isTooEarly = plan->getPlant() == "slot-too-early";
    SlotUses uses(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      SlotAssigner(schedule, uses).run(isTooEarly);
  }
};

} // namespace
