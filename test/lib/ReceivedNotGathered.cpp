//===- ReceivedNotGathered.cpp - A part is taken for the value sent -------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RECEIVEDNOTGATHERED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a value is an argument of a task that another task made, or
/// a view of it.
static bool isHandedOn(Value value) {
  while (value.getDefiningOp<ViewOpInterface>())
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto task = dyn_cast<TaskOp>(argument.getOwner()->getParentOp());
  return task &&
         task.getArgRole(argument.getArgNumber()).getKind() == RoleKind::Value;
}

namespace {

struct ReceivedNotGathered
    : pp::impl::ReceivedNotGatheredBase<ReceivedNotGathered> {
  void runOnOperation() override {
    auto gather = findFirst<AllGatherOp>(
        getOperation(), [](AllGatherOp op) { return isHandedOn(op.getX()); });
    if (failed(requireChange(bool(gather), getOperation(),
                             "gather of a value that a task takes")))
      return signalPassFailure();
    takeOwnPartForAll(gather);
  }
};

} // namespace
