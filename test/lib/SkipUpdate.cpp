//===- SkipUpdate.cpp - Leaves the parameters of a place as they are ------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SKIPUPDATE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct SkipUpdate : pp::impl::SkipUpdateBase<SkipUpdate> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    SmallVector<RunOp> updates;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getBody().getOps<RunOp>())
        if (TaskOp task = index.getTask(run);
            task.getKind() == TaskKind::Update && task.getPlace() == 0)
          updates.push_back(run);
    for (RunOp run : updates)
      run.erase();
    if (failed(requireChange(!updates.empty(), getOperation(),
                             "update on place 0")))
      signalPassFailure();
  }
};

} // namespace
