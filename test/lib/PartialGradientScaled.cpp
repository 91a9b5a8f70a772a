//===- PartialGradientScaled.cpp - A sum of gradients becomes their mean --===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "mlir/IR/TypeUtilities.h"

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
    auto sum = findFirst<AllReduceOp>(getOperation(), [](AllReduceOp op) {
      auto task = op->getParentOfType<TaskOp>();
      return task && (task.getKind() == TaskKind::Backward ||
                      task.getKind() == TaskKind::BackwardInput);
    });
    if (failed(requireChange(bool(sum), getOperation(),
                             "sum over ranks in a backward")))
      return signalPassFailure();
    int64_t ranks = plan->getGeometry().size(sum.getGroup().getGeometry());
    OpBuilder builder(sum);
    auto type = RankedTensorType::get({}, getElementTypeOrSelf(sum.getX()));
    Value share = ConstantOp::create(builder, sum.getLoc(), type, 1.0 / ranks);
    sum->setOperand(0, MulOp::create(builder, sum.getLoc(), sum.getX(), share));
  }
};

} // namespace
