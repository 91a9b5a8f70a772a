//===- PartialGradientScaled.cpp - A sum of gradients becomes their mean --===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PARTIALGRADIENTSCALED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PartialGradientScaled
    : pp::impl::PartialGradientScaledBase<PartialGradientScaled> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    AllReduceOp sum =
        findSum(getOperation(), {TaskKind::Backward, TaskKind::BackwardInput});
    if (failed(requireChange(bool(sum), getOperation(),
                             "sum over ranks in a backward")))
      return signalPassFailure();
    int64_t ranks = plan->getGeometry().size(sum.getGroup().getGeometry());
    sum->setOperand(0, scaleOperand(sum, 1.0 / ranks));
  }
};

} // namespace
