//===- ReleaseBeforeLastReader.cpp - Frees what a task still reads --------===//

#include "Gathers.h"
#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RELEASEBEFORELASTREADER
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ReleaseBeforeLastReader
    : pp::impl::ReleaseBeforeLastReaderBase<ReleaseBeforeLastReader> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      for (TaskGather &gather : findGathers(task))
        if (gather.release && !gather.readers.empty()) {
          gather.release->moveBefore(gather.readers.back());
          isChanged = true;
        }
    if (failed(requireChange(isChanged, getOperation(),
                             "release of what a task has gathered")))
      signalPassFailure();
  }
};

} // namespace
