//===- GatherBeforeUpdate.cpp - Gathers parameters of the step before -----===//

#include "Mutations.h"
#include "Sums.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHERBEFOREUPDATE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GatherBeforeUpdate
    : pp::impl::GatherBeforeUpdateBase<GatherBeforeUpdate> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    bool isChanged = false;
    for (ScheduledGather gather : findGathers(getOperation())) {
      auto schedule = gather.start->getParentOfType<ScheduleOp>();
      for (auto run : schedule.getOps<RunOp>()) {
        TaskOp task = index.getTask(run);
        bool updates =
            task.getKind() == TaskKind::Update &&
            llvm::any_of(index.getOperands(task), [&](const auto &operand) {
              return getWholeBuffer(operand.role) == gather.start.getBuffer();
            });
        if (!updates)
          continue;
        gather.start->moveBefore(run);
        isChanged = true;
        break;
      }
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "gather of updated parameters")))
      signalPassFailure();
  }
};

} // namespace
