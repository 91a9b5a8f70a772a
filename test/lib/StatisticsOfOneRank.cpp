//===- StatisticsOfOneRank.cpp - Sums over rows leave out other ranks -----===//

#include "Mutations.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_STATISTICSOFONERANK
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct StatisticsOfOneRank
    : pp::impl::StatisticsOfOneRankBase<StatisticsOfOneRank> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    AllReduceOp sum =
        findSum(getOperation(), {TaskKind::Forward, TaskKind::Backward});
    if (failed(requireChange(bool(sum), getOperation(), "sum over ranks")))
      return signalPassFailure();
    int64_t ranks = plan->getGeometry().size(sum.getGroup().getGeometry());
    sum.replaceAllUsesWith(scaleOperand(sum, static_cast<double>(ranks)));
    auto task = sum->getParentOfType<TaskOp>();
    sum.erase();
    task.setCollectivesAttr(
        ArrayAttr::get(&getContext(), describeCollectives(task)));
  }
};

} // namespace
