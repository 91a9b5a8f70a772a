//===- ReadBeforeFinish.cpp - Reads what a task still gathers -------------===//

#include "Gathers.h"
#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_READBEFOREFINISH
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ReadBeforeFinish : pp::impl::ReadBeforeFinishBase<ReadBeforeFinish> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      for (TaskGather &gather : findGathers(task))
        if (!gather.readers.empty()) {
          gather.finish->moveAfter(gather.readers.front());
          isChanged = true;
        }
    if (failed(
            requireChange(isChanged, getOperation(), "gather inside a task")))
      signalPassFailure();
  }
};

} // namespace
