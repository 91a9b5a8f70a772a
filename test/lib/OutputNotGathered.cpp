//===- OutputNotGathered.cpp - Each rank takes its part for all parts -----===//

#include "Mutations.h"

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
    takeOwnPartForAll(gather);
  }
};

} // namespace
