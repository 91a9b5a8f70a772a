//===- SumBeforeLastAddition.cpp - Sums gradients that are not complete ---===//

#include "Mutations.h"
#include "Sums.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SUMBEFORELASTADDITION
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct SumBeforeLastAddition
    : pp::impl::SumBeforeLastAdditionBase<SumBeforeLastAddition> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (const ScheduledSum &sum : findSums(schedule)) {
        Operation *last =
            sum.buffer.getKind() == BufferKind::Grads
                ? findLastAddition(sum.buffer, sum.actions.front(), index)
                : nullptr;
        if (!last)
          continue;
        for (Operation *action : sum.actions)
          action->moveBefore(last);
        isChanged = true;
        break;
      }
    if (failed(requireChange(isChanged, getOperation(),
                             "sum of gradients that a place sums by itself")))
      signalPassFailure();
  }

private:
  /// Returns the last run before the sum that adds to a bucket that no other
  /// place has; null if there is none.
  Operation *findLastAddition(BufferAttr buffer, Operation *sum,
                              const StepIndex &index) {
    auto bucket = getOperation().lookupSymbol<BucketOp>(buffer.getName());
    if (bucket.getPlaces().size() > 1)
      return nullptr;
    for (Operation *action = sum; action; action = action->getPrevNode())
      if (auto run = dyn_cast<RunOp>(action);
          run && llvm::any_of(index.getOperands(index.getTask(run)),
                              [&](const TaskOperand &operand) {
                                return addsTo(operand.role, bucket);
                              }))
        return run;
    return nullptr;
  }

  static bool addsTo(RoleAttr role, BucketOp bucket) {
    return role.getKind() == RoleKind::Grad &&
           llvm::is_contained(
               bucket.getParams(),
               StringAttr::get(role.getContext(), role.getName()));
  }
};

} // namespace
