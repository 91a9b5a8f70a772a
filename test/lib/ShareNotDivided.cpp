//===- ShareNotDivided.cpp - What all ranks have counts once for each -----===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SHARENOTDIVIDED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a constant is one over `count`.
static bool isShareOf(Value value, int64_t count) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return false;
  return splat.getSplatValue<APFloat>().convertToDouble() ==
         1.0 / static_cast<double>(count);
}

namespace {

struct ShareNotDivided : pp::impl::ShareNotDividedBase<ShareNotDivided> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    auto share = findFirst<MulOp>(getOperation(), [&](MulOp op) {
      auto task = op->getParentOfType<TaskOp>();
      return task && task.getKind() == TaskKind::Backward &&
             isShareOf(op.getRhs(), plan->getBatchTiles());
    });
    if (failed(requireChange(bool(share), getOperation(),
                             "share of each part of the batch")))
      return signalPassFailure();
    share.replaceAllUsesWith(share.getLhs());
    share.erase();
  }
};

} // namespace
