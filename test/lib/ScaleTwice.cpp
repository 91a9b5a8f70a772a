//===- ScaleTwice.cpp - Divides gradients by the number of parts again ----===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "mlir/IR/TypeUtilities.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SCALETWICE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ScaleTwice : pp::impl::ScaleTwiceBase<ScaleTwice> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    int64_t parts = plan->getBatchTiles();
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      for (auto sum : task.getBody().getOps<AccumulateOp>())
        if (isGradient(task, sum.getAccumulator())) {
          OpBuilder builder(sum);
          auto type = RankedTensorType::get(
              {}, getElementTypeOrSelf(sum.getValue().getType()));
          Value share =
              ConstantOp::create(builder, sum.getLoc(), type, 1.0 / parts);
          sum.getValueMutable().set(
              MulOp::create(builder, sum.getLoc(), sum.getValue(), share));
          isChanged = true;
        }
    if (failed(requireChange(isChanged && parts > 1, getOperation(),
                             "gradient of several parts of a batch")))
      signalPassFailure();
  }

private:
  static bool isGradient(TaskOp task, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument &&
           task.getArgRole(argument.getArgNumber()).getKind() == RoleKind::Grad;
  }
};

} // namespace
