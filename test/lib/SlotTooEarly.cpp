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
          move(later, held.slot);
          return true;
        }
    return false;
  }

private:
  /// Whether the use is of the value of that life.
  static bool isOf(const SlotUse &use, int64_t microbatch,
                   const SlotLifetime &life) {
    return use.role == life.role && use.place == life.place &&
           microbatch == life.microbatch;
  }

  /// The position of the last run that reads a value; 0 if none does.
  unsigned findLastRun(const SlotLifetime &life) {
    for (unsigned i = life.end; i > life.begin; --i)
      if (auto run = dyn_cast<RunOp>(actions[i]))
        for (const SlotUse &use : uses.of(run))
          if (isOf(use, run.getMicrobatch(), life))
            return i;
    return 0;
  }

  void move(const SlotLifetime &life, int64_t number) {
    auto slot = SlotAttr::get(schedule.getContext(), number);
    for (Operation *action : actions) {
      if (auto run = dyn_cast<RunOp>(action)) {
        for (const SlotUse &use : uses.of(run))
          if (isOf(use, run.getMicrobatch(), life))
            rebind(run, use.operand, slot);
      } else if (auto send = dyn_cast<SendOp>(action)) {
        if (isOf(uses.of(send), send.getMicrobatch(), life))
          send.setBindingAttr(slot);
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
