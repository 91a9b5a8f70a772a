//===- BiasInEachPart.cpp - Ranks add a bias to their parts of a sum ------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BIASINEACHPART
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct BiasInEachPart : pp::impl::BiasInEachPartBase<BiasInEachPart> {
  void runOnOperation() override {
    auto isBias = [](AddOp add) {
      auto sum = add.getLhs().getDefiningOp<AllReduceOp>();
      auto bias = dyn_cast<BlockArgument>(add.getRhs());
      auto task = add->getParentOfType<TaskOp>();
      return task && sum && sum->hasOneUse() && bias &&
             task.getArgRole(bias.getArgNumber()).getKind() == RoleKind::Param;
    };
    auto add = findFirst<AddOp>(getOperation(), isBias);
    if (failed(requireChange(bool(add), getOperation(),
                             "bias that is added to a sum over ranks")))
      return signalPassFailure();
    auto sum = add.getLhs().getDefiningOp<AllReduceOp>();
    add.replaceAllUsesWith(sum.getResult());
    add->setOperand(0, sum.getX());
    sum->setOperand(0, add.getResult());
    sum->moveAfter(add);
  }
};

} // namespace
