//===- LocalClipNorm.cpp - Takes the norm of what a rank has by itself ----===//

#include "Mutations.h"
#include "Sums.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOCALCLIPNORM
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct LocalClipNorm : pp::impl::LocalClipNormBase<LocalClipNorm> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      Operation *last = findLastDecision(schedule);
      if (!last)
        continue;
      for (const ScheduledSum &sum : findSums(schedule)) {
        bool isBucket = sum.buffer.getKind() == BufferKind::Grads;
        bool isNorm = sum.buffer.getKind() == BufferKind::Norm;
        isChanged |= isBucket || isNorm;
        if (isNorm)
          erase(sum);
        if (isBucket)
          last = moveAfter(sum, last);
      }
    }
    if (failed(requireChange(isChanged, getOperation(), "norm that ranks sum")))
      signalPassFailure();
  }
};

} // namespace
