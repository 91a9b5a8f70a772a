//===- UpdateIgnoresHold.cpp - A state changes in a step that holds -------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_UPDATEIGNORESHOLD
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns the choice of the new value of the task's last state; null if there
/// is none.
static SelectOp findChoice(TaskOp task) {
  for (unsigned i = task.getNumResults(); i-- > 0;)
    if (task.getResultRole(i).getKind() == RoleKind::StateRange)
      return task.getBody()
          .front()
          .getTerminator()
          ->getOperand(i)
          .getDefiningOp<SelectOp>();
  return {};
}

namespace {

struct UpdateIgnoresHold : pp::impl::UpdateIgnoresHoldBase<UpdateIgnoresHold> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>()) {
      SelectOp choice =
          task.getKind() == TaskKind::Update ? findChoice(task) : SelectOp();
      if (!choice)
        continue;
      choice.getResult().replaceAllUsesWith(choice.getRhs());
      isChanged = true;
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "state that a step may hold")))
      signalPassFailure();
  }
};

} // namespace
