//===- VerifySchedule.cpp - Proves that schedules compute the step --------===//
//
// The contract of phase `scheduled`. Changes nothing. Goes through the table of
// each place, or of all places, once and checks each action with:
//
//   InstanceChecker  the table is an instance of pp.step
//   SlotChecker      values are read from slots that hold them
//   FlightChecker    nothing touches memory that is in flight
//   PartsChecker     what ranks have parts of is complete when it is read
//   ArrivalChecker   what a step fills anew is read after it is filled
//
// Then ProgressProof checks the tables of all places together. It expands runs
// by the signatures of tasks, which must list what the bodies make. MLIR's
// verifiers have checked that what is in flight is waited for once.
//
//===----------------------------------------------------------------------===//

#include "ArrivalChecker.h"
#include "FlightChecker.h"
#include "InstanceChecker.h"
#include "PartsChecker.h"
#include "ProgressProof.h"
#include "SlotChecker.h"

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
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
      : table(table), instances(table), slots(table), flights(table),
        parts(table), arrivals(table) {}

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
  const StepCopy &getCopy(Operation *action) {
    return *table.index.step.getCopy(action);
  }

  CheckedTable table;
  InstanceChecker instances;
  SlotChecker slots;
  FlightChecker flights;
  PartsChecker parts;
  ArrivalChecker arrivals;
};

LogicalResult TableWalk::check(RunOp run) {
  return success(succeeded(instances.check(run)) &&
                 succeeded(flights.check(run)) && succeeded(parts.check(run)) &&
                 succeeded(arrivals.check(run)) && succeeded(slots.check(run)));
}

LogicalResult TableWalk::checkSendOfBucket(Operation *send,
                                           const StepCopy &copy) {
  if (failed(parts.checkSend(send, copy)))
    return failure();
  return copy.gradientOf ? success() : arrivals.checkSend(send, copy);
}

LogicalResult TableWalk::check(SendOp send) {
  if (failed(instances.check(send)) || failed(slots.check(send)))
    return failure();
  const StepCopy &copy = getCopy(send);
  if (!copy.isOfStep())
    return success();
  return success(
      succeeded(checkSendOfBucket(send, copy)) &&
      succeeded(flights.start(send.getToken(), {copy.from, copy.getBuffer()},
                              /*writes=*/false)));
}

LogicalResult TableWalk::check(RecvOp recv) {
  if (failed(instances.check(recv)) || failed(slots.check(recv)))
    return failure();
  const StepCopy &copy = getCopy(recv);
  return copy.isValue()
             ? success()
             : flights.start(recv.getStarted(), {copy.to, copy.getBuffer()},
                             /*writes=*/true);
}

LogicalResult TableWalk::check(CopyOp copy) {
  return success(succeeded(instances.check(copy)) &&
                 succeeded(slots.check(copy)));
}

LogicalResult TableWalk::check(CopyBucketOp op) {
  if (failed(instances.check(op)))
    return failure();
  const StepCopy &copy = getCopy(op);
  if (failed(checkSendOfBucket(op, copy)) || failed(slots.check(op)))
    return failure();
  if (!copy.isValue())
    arrivals.receive(copy);
  return success();
}

LogicalResult TableWalk::check(StartOp start) {
  int64_t place = start.getPlaceOfStart();
  return success(
      succeeded(flights.start(start.getToken(), {place, start.getBuffer()},
                              /*writes=*/true)) &&
      succeeded(parts.check(start)) &&
      succeeded(table.index.buffers.getOperand(start, place)));
}

LogicalResult TableWalk::check(WaitOp wait) {
  flights.finish(wait);
  auto argument = dyn_cast<BlockArgument>(wait.getStarted());
  Operation *action = wait.getStarted().getDefiningOp();
  if (argument)
    action = table.index.getCarried(argument);
  if (auto start = dyn_cast_if_present<StartOp>(action)) {
    parts.finish(start, wait);
    return success();
  }
  if (!isa_and_present<SendOp, RecvOp>(action))
    return wait.emitOpError("waits for nothing");
  if (isa<RecvOp>(action) && !getCopy(action).isValue())
    arrivals.receive(getCopy(action));
  instances.finish(wait);
  slots.finish(wait);
  return success();
}

LogicalResult TableWalk::check(Operation &action) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&action)
      .Case([&](ZeroOp zero) { return parts.check(zero); })
      .Case<RunOp, SendOp, RecvOp, CopyOp, CopyBucketOp, StartOp, WaitOp>(
          [&](auto op) { return check(op); })
      .Default(success());
}

LogicalResult TableWalk::check() {
  unsigned takes = table.schedule.getBody().getNumArguments(),
           left = table.index.countCarried(table.schedule.getPlace());
  if (takes != left)
    return table.schedule.emitOpError("takes ")
           << takes << " tokens, and a step of training leaves " << left
           << " in flight";
  for (Operation &action : table.schedule.getBody().front())
    if (failed(check(action)))
      return failure();
  return success(succeeded(instances.checkComplete()) &&
                 succeeded(parts.checkComplete()));
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
    for (auto task : getOperation().getOps<TaskOp>())
      if (failed(verifySignature(task)))
        return signalPassFailure();
    ScheduleLists lists(getOperation());
    for (ArrayRef<ScheduleOp> schedules : lists.all())
      if (!schedules.empty() && failed(check(schedules, index)))
        return signalPassFailure();
    for (ScheduleOp schedule : lists.evaluation)
      if (failed(findEvaluationParts(schedule, index.step)))
        return signalPassFailure();
    if (failed(proveSchedules(lists, index)))
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
