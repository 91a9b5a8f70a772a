//===- OrderEvaluation.cpp - Evaluations repeat what each batch needs -----===//
//
// Before: an evaluation's transfers may start before its last sum of inputs is
// complete, and the sum of the loss while transfers are in flight. After: what
// each batch repeats is together (EvaluationParts.h): the prologues of a level,
// the collectives that complete their sums, the forwards with all transfers,
// the sums of the loss and of metrics.
//
//   pp.run @p0_P microbatch 0          pp.run @p0_P microbatch 0
//   %s = pp.start … "g0"               %s = pp.start … "g0"
//   %f = pp.recv copy 1 microbatch 0   pp.wait %s
//   pp.wait %s                         %f = pp.recv copy 1 microbatch 0
//   %x = pp.wait %f                    %x = pp.wait %f
//   pp.run @s1_F microbatch 0 (%x)     pp.run @s1_F microbatch 0 (%x)
//
// Transfers keep their order, and so do collectives.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/EvaluationParts.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ORDEREVALUATION
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether an action is the start of a collective that completes the
/// loss or a metric, or its wait.
static bool isOfResult(Operation *action) {
  if (auto wait = dyn_cast<WaitOp>(action))
    action = wait.getStarted().getDefiningOp();
  auto start = dyn_cast_or_null<StartOp>(action);
  BufferKind kind = start ? start.getBuffer().getKind() : BufferKind::StepState;
  return kind == BufferKind::Loss || kind == BufferKind::Metric ||
         kind == BufferKind::MetricCount;
}

static void order(ScheduleOp schedule, const StepIndex &index) {
  auto all = getEvaluationUses(schedule, index);
  Block &body = schedule.getBody().front();
  // What is left in flight comes last.
  auto end = body.end();
  while (end != body.begin() && isa<YieldOp, DoneOp>(*std::prev(end)))
    --end;
  for (bool ofResults : {false, true})
    for (auto [action, use] : all)
      if (ofResults ? use == EvaluationUse::Once && isOfResult(action)
                    : use == EvaluationUse::Forward)
        action->moveBefore(&body, end);
}

namespace {

struct OrderEvaluation : pp::impl::OrderEvaluationBase<OrderEvaluation> {
  void runOnOperation() override {
    markAnalysesPreserved<TaskTimes>();
    StepIndex index(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      if (schedule.getEvaluation())
        order(schedule, index);
  }
};

} // namespace
