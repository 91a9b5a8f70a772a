//===- NormBeforeWait.cpp - Reads gradients while they are summed ---------===//

#include "Mutations.h"
#include "Sums.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_NORMBEFOREWAIT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct NormBeforeWait : pp::impl::NormBeforeWaitBase<NormBeforeWait> {
  void runOnOperation() override {
    bool isChanged = false;
    StepIndex index(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      Operation *norm = nullptr; // the last run
      for (auto run : schedule.getOps<RunOp>())
        if (index.getTask(run).getKind() == TaskKind::Norm)
          norm = run;
      if (!norm || schedule.isLocal())
        continue;
      for (const ScheduledSum &sum : findSums(schedule)) {
        if (sum.buffer.getKind() != BufferKind::Grads)
          continue;
        sum.actions.back()->moveAfter(norm);
        isChanged = true;
        break;
      }
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "sum of gradients that a norm reads")))
      signalPassFailure();
  }
};

} // namespace
