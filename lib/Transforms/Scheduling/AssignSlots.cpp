//===- AssignSlots.cpp - Colours lifetimes of values into slots -----------===//
//
// Before: runs and transfers bind saved and received values to slots without
// number. After: to numbered slots. The schedule has the sizes of the slots
// and, if it is local, their places.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class SlotAssigner {
public:
  SlotAssigner(ScheduleOp schedule, const SlotUses &uses)
      : schedule(schedule), uses(uses) {}
  void run();

private:
  void colour(ArrayRef<SlotLifetime> lifetimes);
  void setSlots();
  void setSlots(RunOp run);
  /// Returns the binding of a use, whose value may lie elsewhere.
  Attribute bind(const SlotUse &use, int64_t microbatch) const {
    if (!liesInSlot(use))
      return makeBinding(use);
    return SlotAttr::get(use.role.getContext(),
                         colours.lookup({use.role, microbatch}));
  }

  ScheduleOp schedule;
  const SlotUses &uses;
  DenseMap<std::pair<Attribute, int64_t>, int64_t> colours;
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

void SlotAssigner::setSlots(RunOp run) {
  SmallVector<Attribute> bindings(run.getBindings()->getValue());
  for (const SlotUse &use : uses.of(run))
    bindings[use.operand] = bind(use, run.getMicrobatch());
  run.setBindingsAttr(ArrayAttr::get(run.getContext(), bindings));
}

void SlotAssigner::setSlots() {
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      setSlots(run);
    } else if (auto send = dyn_cast<SendOp>(action)) {
      send.setBindingAttr(bind(uses.of(send), send.getMicrobatch()));
    } else if (auto recv = dyn_cast<RecvOp>(action)) {
      recv.setBindingAttr(bind(uses.of(recv), recv.getMicrobatch()));
    }
  }
}

void SlotAssigner::run() {
  colour(findLifetimes(schedule, uses));
  setSlots();
  schedule.setSlots(slots);
  if (schedule.isLocal())
    schedule.setSlotPlaces(places);
}

struct AssignSlots : pp::impl::AssignSlotsBase<AssignSlots> {
  void runOnOperation() override {
    SlotUses uses(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      if (failed(checkBound(schedule)))
        return signalPassFailure();
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      SlotAssigner(schedule, uses).run();
  }

private:
  static LogicalResult checkBound(ScheduleOp schedule) {
    for (auto run : schedule.getOps<RunOp>())
      if (!run.getBindings())
        return run.emitOpError("binds no operands; run --pp-bind-operands "
                               "before --pp-assign-slots");
    return success();
  }
};

} // namespace
