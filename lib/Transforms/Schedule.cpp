//===- Schedule.cpp - Orders the runs of every place ----------------------===//
//
// Before: tasks. After: a pp.schedule of training and one of evaluation with
// the runs of all tasks, in dependency order; nothing is communicated yet.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SCHEDULE
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct Schedule : pp::impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    build(*plan, /*isEvaluation=*/false);
    build(*plan, /*isEvaluation=*/true);
  }

private:
  /// With one stage there is one order, whatever the schedule's name: each
  /// microbatch forward and backward in turn.
  void build(PlanOp plan, bool isEvaluation) {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto schedule = ScheduleOp::create(builder, plan.getLoc(), /*place=*/0,
                                       isEvaluation, ArrayRef<int64_t>{});
    builder.createBlock(&schedule.getBody());
    auto run = [&](ArrayRef<TaskKind> kinds, int64_t microbatch) {
      for (auto task : module.getOps<TaskOp>())
        if (llvm::is_contained(kinds, task.getKind()))
          RunOp::create(builder, task.getLoc(), task.getSymName(), microbatch,
                        builder.getDictionaryAttr({}));
    };
    auto forEachMicrobatch = [&](ArrayRef<TaskKind> kinds) {
      for (int64_t i = 0, e = plan.getMicrobatches(); i < e; ++i)
        run(kinds, i);
    };
    ZeroOp::create(builder, plan.getLoc());
    forEachMicrobatch(TaskKind::Prologue);
    CheckCountsOp::create(builder, plan.getLoc());
    if (isEvaluation)
      return forEachMicrobatch(TaskKind::Forward);
    forEachMicrobatch({TaskKind::Forward, TaskKind::Backward});
    run(TaskKind::Norm, 0);
    NormOp::create(builder, plan.getLoc());
    run(TaskKind::Update, 0);
  }
};

} // namespace
