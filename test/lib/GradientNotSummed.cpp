//===- GradientNotSummed.cpp - Leaves out the sum of a bucket -------------===//

#include "Mutations.h"
#include "Sums.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GRADIENTNOTSUMMED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GradientNotSummed : pp::impl::GradientNotSummedBase<GradientNotSummed> {
  void runOnOperation() override {
    BufferAttr bucket; // the first that is summed
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (const ScheduledSum &sum : findSums(schedule)) {
        if (!bucket && sum.buffer.getKind() == BufferKind::Grads)
          bucket = sum.buffer;
        if (sum.buffer == bucket)
          erase(sum);
      }
    if (failed(requireChange(bucket != nullptr, getOperation(),
                             "sum of gradients")))
      signalPassFailure();
  }
};

} // namespace
