//===- VerifySchedule.cpp - Proves that schedules compute the step --------===//
//
// The contract of phase `scheduled`. Changes nothing. Goes through the table of
// each place, or of all places, once and checks each action with:
//
//   InstanceChecker  the table is an instance of pp.step
//   BindingChecker   runs have the addresses of what they bind
//   SlotChecker      values are read from slots that hold them
//   SumChecker       sums over ranks are complete when they are read
//   DecisionChecker  what a place decides is read after it is decided
//   LoanChecker      borrowed parameters come before they are read or updated
//   ParameterChecker  sharded parameters are gathered when they are read
//   OtherEndsChecker  waits of one process come after all ends have started
//
// Then ProgressProof checks the tables of all places together. It expands runs
// by the signatures of tasks, which must list what the bodies make. MLIR's
// verifiers have checked that what is in flight is waited for once.
//
//===----------------------------------------------------------------------===//

#include "BindingChecker.h"
#include "DecisionChecker.h"
#include "InstanceChecker.h"
#include "LoanChecker.h"
#include "OtherEndsChecker.h"
#include "ParameterChecker.h"
#include "ProgressProof.h"
#include "SlotChecker.h"
#include "SumChecker.h"

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
      : table(table), instances(table), bindings(table), slots(table),
        sums(table), decisions(table), loans(table), parameters(table),
        otherEnds(table) {}

  LogicalResult check();

private:
  LogicalResult check(Operation &action);
  LogicalResult check(RunOp run);
  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(CopyOp copy);
  LogicalResult check(CopyBucketOp copy);
  LogicalResult check(StartOp start);
  LogicalResult check(WaitOp wait);
  LogicalResult checkSendOfBucket(Operation *send, const StepCopy &copy);
  LogicalResult finish(WaitOp wait, StartOp start);
  LogicalResult checkComplete();
  template <typename OpT> const StepCopy &getCopy(OpT end) {
    return *table.index.step.getCopy(end);
  }

  CheckedTable table;
  InstanceChecker instances;
  BindingChecker bindings;
  SlotChecker slots;
  SumChecker sums;
  DecisionChecker decisions;
  LoanChecker loans;
  ParameterChecker parameters;
  OtherEndsChecker otherEnds;
};

LogicalResult TableWalk::check(RunOp run) {
  return success(
      succeeded(instances.check(run)) && succeeded(bindings.check(run)) &&
      succeeded(sums.check(run)) && succeeded(decisions.check(run)) &&
      succeeded(loans.check(run)) && succeeded(parameters.check(run)) &&
      succeeded(slots.check(run)));
}

/// Checks the sending of a bucket's parameters or gradients.
LogicalResult TableWalk::checkSendOfBucket(Operation *send,
                                           const StepCopy &copy) {
  if (copy.gradientOf) {
    sums.take(send, copy);
    return success();
  }
  if (failed(parameters.check(send, copy)))
    return failure();
  loans.start(send, copy);
  return loans.checkSend(send, copy);
}

LogicalResult TableWalk::check(SendOp send) {
  if (failed(instances.check(send)) || failed(slots.check(send)))
    return failure();
  const StepCopy &copy = getCopy(send);
  return copy.isOfStep() ? checkSendOfBucket(send, copy) : success();
}

LogicalResult TableWalk::check(RecvOp recv) {
  return success(succeeded(instances.check(recv)) &&
                 succeeded(slots.check(recv)));
}

LogicalResult TableWalk::check(CopyOp copy) {
  return success(succeeded(instances.check(copy)) &&
                 succeeded(slots.check(copy)));
}

LogicalResult TableWalk::check(CopyBucketOp op) {
  if (failed(instances.check(op)))
    return failure();
  const StepCopy &copy = *table.index.step.getCopies().find(op.getId());
  if (failed(checkSendOfBucket(op, copy)) || failed(slots.check(op)))
    return failure();
  if (!copy.isValue()) {
    loans.finish(copy);
    loans.receive(copy);
  }
  return success();
}

LogicalResult TableWalk::check(StartOp start) {
  if (failed(start.gathersParameters() ? parameters.check(start)
                                       : sums.check(start)) ||
      failed(table.index.operandBuffers.getOperand(start,
                                                   start.getPlaceOfStart())))
    return failure();
  otherEnds.start(start);
  return success();
}

LogicalResult TableWalk::finish(WaitOp wait, StartOp start) {
  if (!wait.isCarried() && failed(otherEnds.check(wait, start)))
    return failure();
  if (start.gathersParameters())
    return parameters.finish(start, wait);
  sums.finish(start, wait);
  return success();
}

LogicalResult TableWalk::check(WaitOp wait) {
  if (auto argument = dyn_cast<BlockArgument>(wait.getStarted())) {
    StartOp start = table.index.getCarried(table.schedule.getPlace(),
                                           argument.getArgNumber());
    if (start && parameters.isOfShards(start))
      return finish(wait, start);
    return wait.emitOpError("waits for token ")
           << argument.getArgNumber()
           << " of the step before, and no step of this place leaves a gather "
              "of parameters in flight as that";
  }
  Operation *action = wait.getStarted().getDefiningOp();
  if (auto start = dyn_cast<StartOp>(action))
    return finish(wait, start);
  if (auto recv = dyn_cast<RecvOp>(action)) {
    if (const StepCopy &copy = getCopy(recv); !copy.isValue())
      loans.receive(copy);
  } else if (auto send = dyn_cast<SendOp>(action)) {
    if (const StepCopy &copy = getCopy(send); !copy.isValue())
      loans.finish(copy);
  } else {
    return wait.emitOpError("waits for nothing");
  }
  instances.finish(wait);
  slots.finish(wait);
  return success();
}

LogicalResult TableWalk::check(Operation &action) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&action)
      .Case<RunOp, SendOp, RecvOp, CopyOp, CopyBucketOp, StartOp, WaitOp>(
          [&](auto op) { return check(op); })
      .Default(success());
}

LogicalResult TableWalk::checkComplete() {
  return success(succeeded(instances.checkComplete()) &&
                 succeeded(sums.checkComplete()) &&
                 succeeded(parameters.checkComplete()));
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
    if (!index.stepOp && !getOperation().getOps<ScheduleOp>().empty()) {
      getOperation().emitError("there is no pp.step that the schedules could "
                               "be instances of");
      return signalPassFailure();
    }
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
      if (failed(findEvaluationParts(schedule, index.step)))
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
