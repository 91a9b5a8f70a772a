//===- OpenLeftOut.cpp - Proposals go on from the last step's -------------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OPENLEFTOUT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OpenLeftOut : pp::impl::OpenLeftOutBase<OpenLeftOut> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    SmallVector<RunOp> opens;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getBody().getOps<RunOp>())
        if (index.getTask(run).getKind() == TaskKind::Open)
          opens.push_back(run);
    for (RunOp run : opens)
      run.erase();
    if (failed(requireChange(!opens.empty(), getOperation(), "opened state")))
      signalPassFailure();
  }
};

} // namespace
