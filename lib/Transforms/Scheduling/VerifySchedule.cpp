//===- VerifySchedule.cpp - Proves that schedules compute the step --------===//
//
// The contract of phase `scheduled`. Changes nothing. Goes through the table of
// each place, or of all places, once and checks each action with:
//
//   RunChecker       tasks run once on every microbatch
//   BindingChecker   operands are bound to where their values are
//   TransferChecker  transfers are made once, what is started is waited for
//   SlotChecker      values in slots are read from slots that hold them
//   SumChecker       sums over ranks are complete when they are read
//   DecisionChecker  what a place decides is read after it is decided
//   LoanChecker      borrowed parameters come before they are read or updated
//   ParameterChecker  sharded parameters are gathered when they are read
//   OtherEndsChecker  waits of one process come after all ends have started
//
// Then ProgressProof checks the tables of all places together. It expands runs
// by the signatures of tasks, which must list what the bodies make.
//
//===----------------------------------------------------------------------===//

#include "BindingChecker.h"
#include "DecisionChecker.h"
#include "LoanChecker.h"
#include "OtherEndsChecker.h"
#include "ParameterChecker.h"
#include "ProgressProof.h"
#include "RunChecker.h"
#include "SlotChecker.h"
#include "SumChecker.h"
#include "TransferChecker.h"

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/EvaluationParts.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Checks that every place has one table and that the plan has the place of
/// every table.
LogicalResult checkPlaces(ArrayRef<ScheduleOp> schedules, PlanOp plan) {
  int64_t places = plan.getPlaces();
  SmallVector<ScheduleOp> found(places);
  for (ScheduleOp schedule : schedules) {
    if (schedule.isLocal())
      return schedule.emitOpError("is of all places, and the plan's launch is ")
             << schema::spell(plan.getLaunch());
    int64_t place = schedule.getPlace();
    if (place < 0 || place >= places)
      return schedule.emitOpError("is of place ")
             << place << ", and the plan has " << places;
    if (ScheduleOp first = found[place]) {
      InFlightDiagnostic diag =
          schedule.emitOpError("is a second schedule of place ") << place;
      diag.attachNote(first.getLoc()) << "the first is here";
      return diag;
    }
    found[place] = schedule;
  }
  for (int64_t place = 0; place < places; ++place)
    if (!found[place])
      return plan.emitOpError("has place ") << place << " without a schedule";
  return success();
}

/// Checks that all places have one table together.
LogicalResult checkIsLocal(ArrayRef<ScheduleOp> schedules) {
  for (ScheduleOp schedule : schedules) {
    if (!schedule.isLocal())
      return schedule.emitOpError("is of place ")
             << schedule.getPlace() << ", and the plan's launch is local";
    if (schedule != schedules.front())
      return schedule.emitOpError("is a second schedule of all places");
  }
  return success();
}

/// Checks one table.
class TableWalk {
public:
  explicit TableWalk(CheckedTable table)
      : table(table), runs(table), bindings(table), transfers(table),
        slots(table), sums(table), decisions(table), loans(table),
        parameters(table), otherEnds(table) {}

  LogicalResult check();

private:
  LogicalResult check(Operation &action);
  LogicalResult check(RunOp run);
  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(StartOp start);
  LogicalResult check(WaitOp wait);
  LogicalResult checkSendOfBucket(SendOp send, const SlotUse &use);
  LogicalResult checkComplete();

  CheckedTable table;
  RunChecker runs;
  BindingChecker bindings;
  TransferChecker transfers;
  SlotChecker slots;
  SumChecker sums;
  DecisionChecker decisions;
  LoanChecker loans;
  ParameterChecker parameters;
  OtherEndsChecker otherEnds;
};

LogicalResult TableWalk::check(RunOp run) {
  return success(
      succeeded(runs.check(run)) && succeeded(bindings.check(run)) &&
      succeeded(sums.check(run)) && succeeded(decisions.check(run)) &&
      succeeded(loans.check(run)) && succeeded(parameters.check(run)) &&
      succeeded(slots.check(run)));
}

/// Checks a transfer of the step, which sends a bucket's parameters or
/// gradients.
LogicalResult TableWalk::checkSendOfBucket(SendOp send, const SlotUse &use) {
  if (use.buffer.getKind() != BufferKind::Grads)
    return loans.checkSend(send, use);
  sums.take(send, use);
  return success();
}

LogicalResult TableWalk::check(SendOp send) {
  if (failed(transfers.check(send)))
    return failure();
  SlotUse use = table.index.uses.of(send);
  if (failed(bindings.check(send, use)))
    return failure();
  otherEnds.start(send);
  if (liesInSlot(use))
    return slots.checkSend(send, use);
  if (use.buffer.getKind() == BufferKind::Params) {
    if (failed(parameters.check(send, use)))
      return failure();
    loans.start(send, use);
  }
  return checkSendOfBucket(send, use);
}

LogicalResult TableWalk::check(RecvOp recv) {
  if (failed(transfers.check(recv)))
    return failure();
  SlotUse use = table.index.uses.of(recv);
  if (failed(bindings.check(recv, use)))
    return failure();
  otherEnds.start(recv);
  return liesInSlot(use) ? slots.checkReceive(recv, use) : success();
}

LogicalResult TableWalk::check(StartOp start) {
  if (failed(transfers.check(start)) ||
      failed(start.gathersParameters() ? parameters.check(start)
                                       : sums.check(start)))
    return failure();
  otherEnds.start(start);
  return success();
}

LogicalResult TableWalk::check(WaitOp wait) {
  FailureOr<Operation *> action = transfers.check(wait);
  if (failed(action) || failed(otherEnds.check(wait, *action)))
    return failure();
  auto start = dyn_cast<StartOp>(*action);
  if (start && start.gathersParameters())
    return parameters.finish(start, wait);
  if (start) {
    sums.finish(start, wait);
  } else if (auto send = dyn_cast<SendOp>(*action)) {
    SlotUse use = table.index.uses.of(send);
    liesInSlot(use) ? slots.finish(send, use) : loans.finish(use);
  } else {
    auto recv = cast<RecvOp>(*action);
    SlotUse use = table.index.uses.of(recv);
    liesInSlot(use) ? slots.finish(recv, use) : loans.receive(use);
  }
  return success();
}

LogicalResult TableWalk::check(Operation &action) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&action)
      .Case<RunOp, SendOp, RecvOp, StartOp, WaitOp>(
          [&](auto op) { return check(op); })
      .Default(success());
}

LogicalResult TableWalk::checkComplete() {
  return success(succeeded(transfers.checkAllAreDone()) &&
                 succeeded(runs.checkComplete()) &&
                 succeeded(sums.checkComplete()) &&
                 succeeded(parameters.checkComplete()) &&
                 succeeded(transfers.checkComplete()));
}

LogicalResult TableWalk::check() {
  for (Operation &action : table.schedule.getBody().front())
    if (failed(check(action)))
      return failure();
  return checkComplete();
}

struct VerifySchedule : pp::impl::VerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    ScheduleIndex index(getOperation(), *plan);
    for (TaskOp task : index.tasks)
      if (failed(verifySignature(task)))
        return signalPassFailure();
    SmallVector<ScheduleOp> training, evaluation;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      (schedule.getEvaluation() ? evaluation : training).push_back(schedule);
    for (ArrayRef<ScheduleOp> schedules : {training, evaluation})
      if (!schedules.empty() && failed(check(schedules, index)))
        return signalPassFailure();
    for (ScheduleOp schedule : evaluation)
      if (failed(findEvaluationParts(schedule, index.uses)))
        return signalPassFailure();
    if (failed(proveSchedules(training, evaluation, index)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult check(ArrayRef<ScheduleOp> schedules,
                      const ScheduleIndex &index) {
    PlanOp plan = index.plan;
    bool isLocal = plan.getLaunch() == Launch::local;
    if (failed(isLocal ? checkIsLocal(schedules)
                       : checkPlaces(schedules, plan)))
      return failure();
    for (ScheduleOp schedule : schedules)
      if (failed(TableWalk({schedule, index}).check()))
        return failure();
    return success();
  }
};

} // namespace
