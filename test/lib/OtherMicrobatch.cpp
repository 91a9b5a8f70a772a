//===- OtherMicrobatch.cpp - Reads the value of another microbatch --------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERMICROBATCH
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OtherMicrobatch : pp::impl::OtherMicrobatchBase<OtherMicrobatch> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      isChanged |= changeOne(schedule);
    if (failed(requireChange(isChanged, getOperation(),
                             "task that reads a value of two microbatches")))
      signalPassFailure();
  }

private:
  /// Gives a run what an earlier run of its task has read.
  static bool changeOne(ScheduleOp schedule) {
    DenseMap<Attribute, RunOp> earlier; // by task
    for (auto run : schedule.getOps<RunOp>()) {
      auto [it, isNew] = earlier.try_emplace(run.getTaskAttr(), run);
      if (isNew || run.getValues().empty())
        continue;
      run->setOperand(0, it->second->getOperand(0));
      return true;
    }
    return false;
  }
};

} // namespace
