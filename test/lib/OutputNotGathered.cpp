//===- OutputNotGathered.cpp - Each rank takes its part for all parts -----===//

#include "Mutations.h"

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OUTPUTNOTGATHERED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OutputNotGathered : pp::impl::OutputNotGatheredBase<OutputNotGathered> {
  void runOnOperation() override {
    auto gather = findFirst<AllGatherOp>(getOperation(), [](AllGatherOp op) {
      auto task = op->getParentOfType<TaskOp>();
      return task && !getOutputs(task).empty();
    });
    if (failed(requireChange(bool(gather), getOperation(),
                             "gather in a task that makes outputs")))
      return signalPassFailure();
    OpBuilder builder(gather);
    int64_t parts =
        getShape(gather.getResult()).front() / getShape(gather.getX()).front();
    gather.replaceAllUsesWith(
        ConcatOp::create(builder, gather.getLoc(), gather.getType(),
                         SmallVector<Value>(parts, gather.getX()), /*dim=*/0)
            .getResult());
    auto task = gather->getParentOfType<TaskOp>();
    gather.erase();
    task.setCollectivesAttr(
        ArrayAttr::get(&getContext(), describeCollectives(task)));
  }
};

} // namespace
