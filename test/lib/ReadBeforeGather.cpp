//===- ReadBeforeGather.cpp - Reads parameters while they are gathered ----===//

#include "Mutations.h"
#include "Sums.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_READBEFOREGATHER
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ReadBeforeGather : pp::impl::ReadBeforeGatherBase<ReadBeforeGather> {
  void runOnOperation() override {
    bool isChanged = false;
    for (ScheduledGather gather : findGathers(getOperation()))
      for (WaitOp wait : gather.waits) {
        Operation *reader = wait;
        while (reader && !isa<RunOp, SendOp>(reader))
          reader = reader->getNextNode();
        if (!reader)
          continue;
        wait->moveAfter(reader);
        isChanged = true;
      }
    if (failed(requireChange(isChanged, getOperation(),
                             "wait for gathered parameters")))
      signalPassFailure();
  }
};

} // namespace
