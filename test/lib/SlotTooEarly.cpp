//===- SlotTooEarly.cpp - Writes a slot again before its value was read ---===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SLOTTOOEARLY
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The number of the result of a run that a value is.
unsigned getNumber(const SlotLifetime &life) {
  return cast<OpResult>(life.holder).getResultNumber();
}

/// The position of the last run that reads a value; 0 if none does.
unsigned findLastRun(const SlotLifetime &life, ArrayRef<Operation *> actions) {
  for (unsigned i = life.end; i > life.begin; --i)
    if (auto run = dyn_cast<RunOp>(actions[i]);
        run && llvm::is_contained(run.getValues(), life.holder))
      return i;
  return 0;
}

/// Puts one value in the slot of an earlier microbatch's that a run still
/// reads. False where there are no such two.
bool shareOne(ScheduleOp schedule, const StepIndex &index) {
  SmallVector<Operation *> actions;
  for (Operation &action : schedule.getBody().front())
    actions.push_back(&action);
  SmallVector<SlotLifetime> lives = findLifetimes(schedule, index);
  for (const SlotLifetime &held : lives)
    for (const SlotLifetime &later : lives) {
      auto first = held.holder.getDefiningOp<RunOp>();
      auto second = later.holder.getDefiningOp<RunOp>();
      if (!first || !second || first.getTask() != second.getTask() ||
          getNumber(held) != getNumber(later) || held.begin >= later.begin ||
          later.begin >= findLastRun(held, actions))
        continue;
      SmallVector<int64_t> slots(*second.getSlots());
      slots[getNumber(later)] = *getSlot(held.holder);
      second.setSlots(slots);
      return true;
    }
  return false;
}

struct SlotTooEarly : pp::impl::SlotTooEarlyBase<SlotTooEarly> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      isChanged |= shareOne(schedule, index);
    if (failed(requireChange(isChanged, getOperation(),
                             "saved values of two microbatches in flight")))
      signalPassFailure();
  }
};

} // namespace
