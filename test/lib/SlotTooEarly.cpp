//===- SlotTooEarly.cpp - Writes a slot again before its value was read ---===//

#include "Mutations.h"

#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SLOTTOOEARLY
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class SlotSharer {
public:
  SlotSharer(ScheduleOp schedule, const SlotUses &uses)
      : schedule(schedule), uses(uses) {
    for (Operation &action : schedule.getBody().front())
      actions.push_back(&action);
  }

  /// Puts one value in the slot of an earlier microbatch's that a run still
  /// reads. False where there are no such two.
  bool shareOne() {
    SmallVector<SlotLifetime> lives = findLifetimes(schedule, uses);
    for (const SlotLifetime &held : lives)
      for (const SlotLifetime &later : lives)
        if (held.role == later.role && held.begin < later.begin &&
            later.begin < findLastRun(held) &&
            isa<RunOp>(actions[held.begin]) &&
            isa<RunOp>(actions[later.begin])) {
          move(later, getSlot(actions[held.begin], held.role));
          return true;
        }
    return false;
  }

private:
  /// The position of the last run that reads a value; 0 if none does.
  unsigned findLastRun(const SlotLifetime &life) {
    for (unsigned i = life.end; i > life.begin; --i)
      if (auto run = dyn_cast<RunOp>(actions[i]);
          run && run.getMicrobatch() == life.microbatch &&
          getSlot(run, life.role) >= 0)
        return i;
    return 0;
  }

  void move(const SlotLifetime &life, int64_t slot) {
    auto isOf = [&](const SlotUse &use, int64_t microbatch) {
      return use.role == life.role && use.place == life.place &&
             microbatch == life.microbatch;
    };
    for (Operation *action : actions) {
      if (auto run = dyn_cast<RunOp>(action)) {
        if (run.getMicrobatch() != life.microbatch ||
            getSlot(run, life.role) < 0)
          continue;
        NamedAttrList slots(run.getSlots());
        slots.set(life.role.getName(), Builder(run).getI64IntegerAttr(slot));
        run.setSlotsAttr(slots.getDictionary(run.getContext()));
      } else if (auto send = dyn_cast<SendOp>(action)) {
        if (isOf(uses.of(send), send.getMicrobatch()))
          send.setSlot(slot);
      } else if (auto copy = dyn_cast<CopyValueOp>(action)) {
        if (isOf(uses.of(copy)[0], copy.getMicrobatch()))
          copy.setFromSlot(slot);
      }
    }
  }

  ScheduleOp schedule;
  const SlotUses &uses;
  SmallVector<Operation *> actions;
};

struct SlotTooEarly : pp::impl::SlotTooEarlyBase<SlotTooEarly> {
  void runOnOperation() override {
    SlotUses uses(getOperation());
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      isChanged |= SlotSharer(schedule, uses).shareOne();
    if (failed(requireChange(isChanged, getOperation(),
                             "saved values of two microbatches in flight")))
      signalPassFailure();
  }
};

} // namespace
