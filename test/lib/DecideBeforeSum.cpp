//===- DecideBeforeSum.cpp - Decides by what a rank has by itself ---------===//

#include "Mutations.h"
#include "Sums.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DECIDEBEFORESUM
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DecideBeforeSum : pp::impl::DecideBeforeSumBase<DecideBeforeSum> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      Operation *last = findLastDecision(schedule);
      if (!last)
        continue;
      for (const ScheduledSum &sum : findSums(schedule)) {
        BufferKind kind = sum.buffer.getKind();
        if (kind != BufferKind::Norm && kind != BufferKind::Loss)
          continue;
        last = moveAfter(sum, last);
        isChanged = true;
      }
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "sum that a place decides by")))
      signalPassFailure();
  }
};

} // namespace
