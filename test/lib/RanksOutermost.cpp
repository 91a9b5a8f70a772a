//===- RanksOutermost.cpp - Ranks have rows before microbatches do --------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RANKSOUTERMOST
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct RanksOutermost : pp::impl::RanksOutermostBase<RanksOutermost> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan) ||
        failed(requireChange(plan->getByMicrobatch(), getOperation(),
                             "plan by microbatch")))
      return signalPassFailure();
    plan->setByMicrobatch(false);
  }
};

} // namespace
