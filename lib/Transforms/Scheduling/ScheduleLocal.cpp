//===- ScheduleLocal.cpp - One list of actions for all places -------------===//
//
// Before: pp.step of a plan whose launch is local. After: one pp.schedule local
// of training, one of evaluation, and one that exchanges averages if there are
// some: the calls and copies of the step in its order, each microbatch after
// the one before. This is the reference for all other orders and shares no code
// with the passes that make them.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SCHEDULELOCAL
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ScheduleLocal : pp::impl::ScheduleLocalBase<ScheduleLocal> {
  void runOnOperation() override {
    markAnalysesPreserved<TaskTimes>();
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (plan->getLaunch() != Launch::local)
      return;
    StepOp step = findStep(getOperation());
    if (!step) {
      getOperation().emitError("there is no pp.step to make a schedule of");
      return signalPassFailure();
    }
    build(*plan, step, /*isEvaluation=*/false);
    build(*plan, step, /*isEvaluation=*/true);
    if (!step.getAverage().empty()) {
      OpBuilder builder = begin(*plan, step, /*isEvaluation=*/false,
                                /*isAverage=*/true);
      run(step.getAverage(), std::nullopt, builder);
    }
  }

private:
  static OpBuilder begin(PlanOp plan, StepOp step, bool isEvaluation,
                         bool isAverage);
  static void build(PlanOp plan, StepOp step, bool isEvaluation);
  static void run(CallOp call, int64_t microbatch, IRMapping &mapping,
                  OpBuilder &builder);
  static void run(Region &region, std::optional<int64_t> microbatch,
                  OpBuilder &builder, bool copiesOnly = false);
};

} // namespace

void ScheduleLocal::run(CallOp call, int64_t microbatch, IRMapping &mapping,
                        OpBuilder &builder) {
  SmallVector<Value> operands;
  for (Value operand : call.getValues())
    operands.push_back(mapping.lookup(operand));
  auto task =
      SymbolTable::lookupNearestSymbolFrom<TaskOp>(call, call.getTaskAttr());
  auto run =
      RunOp::create(builder, task.getLoc(), call.getResultTypes(),
                    call.getTaskAttr(), builder.getI64IntegerAttr(microbatch),
                    /*chunk=*/IntegerAttr(), operands,
                    /*slots=*/DenseI64ArrayAttr());
  mapping.map(call.getResults(), run.getResults());
}

/// Adds a region, on a microbatch or once; or only the copies of buckets in it.
void ScheduleLocal::run(Region &region, std::optional<int64_t> microbatch,
                        OpBuilder &builder, bool copiesOnly) {
  IRMapping mapping;
  for (Operation &op : region.getOps()) {
    if (auto call = dyn_cast<CallOp>(op)) {
      if (!copiesOnly)
        run(call, microbatch.value_or(0), mapping, builder);
      continue;
    }
    Operation *copied = builder.clone(op, mapping);
    if (auto copy = dyn_cast<CopyOp>(copied))
      copy.setMicrobatch(microbatch);
  }
}

/// Adds a schedule; returns a builder of its actions.
OpBuilder ScheduleLocal::begin(PlanOp plan, StepOp step, bool isEvaluation,
                               bool isAverage) {
  auto builder = OpBuilder::atBlockEnd(step->getBlock());
  auto schedule = ScheduleOp::create(
      builder, plan.getLoc(), ScheduleOp::kAllPlaces, isEvaluation, isAverage,
      ArrayRef<int64_t>{}, builder.getDenseI64ArrayAttr({}));
  builder.createBlock(&schedule.getBody());
  return builder;
}

void ScheduleLocal::build(PlanOp plan, StepOp step, bool isEvaluation) {
  OpBuilder builder = begin(plan, step, isEvaluation, /*isAverage=*/false);
  int64_t microbatches = plan.getMicrobatches();
  ZeroOp::create(builder, plan.getLoc());
  // A nested sum needs all microbatches of the sums inside it.
  for (auto prologue : step.getPrologue().getOps<CallOp>())
    for (int64_t i = 0; i < microbatches; ++i) {
      IRMapping mapping;
      run(prologue, i, mapping, builder);
    }
  run(step.getBegin(), std::nullopt, builder, /*copiesOnly=*/isEvaluation);
  for (int64_t i = 0; i < microbatches; ++i)
    run(isEvaluation ? step.getEvaluation() : step.getMicrobatch(), i, builder);
  if (!isEvaluation)
    run(step.getEnd(), std::nullopt, builder);
}
