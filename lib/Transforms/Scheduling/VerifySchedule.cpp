//===- VerifySchedule.cpp - Proves that schedules compute the step --------===//
//
// The contract of phase `scheduled`. Nothing is changed. Walks the table of
// each place once, then holds the tables of all places against each other.
//
//===----------------------------------------------------------------------===//

#include "ProgressProof.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Every place has one table; a table is of a place that there is.
LogicalResult checkPlaces(ArrayRef<ScheduleOp> schedules, PlanOp plan) {
  int64_t places = plan.getAxisSize("pp");
  SmallVector<ScheduleOp> found(places);
  for (ScheduleOp schedule : schedules) {
    if (schedule.isLocal())
      return schedule.emitOpError("is of all places, and the plan's launch is ")
             << plan.getLaunch();
    int64_t place = schedule.getPlace();
    if (place < 0 || place >= places)
      return schedule.emitOpError("is of place ")
             << place << ", and the plan has " << places;
    if (ScheduleOp first = found[place]) {
      InFlightDiagnostic diag =
          schedule.emitOpError("is a second one of place ") << place;
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

/// All places have one table together.
LogicalResult checkIsLocal(ArrayRef<ScheduleOp> schedules) {
  for (ScheduleOp schedule : schedules) {
    if (!schedule.isLocal())
      return schedule.emitOpError("is of place ")
             << schedule.getPlace() << ", and the plan's launch is local";
    if (schedule != schedules.front())
      return schedule.emitOpError("is a second one of all places");
  }
  return success();
}

struct VerifySchedule : pp::impl::VerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    ScheduleIndex index(getOperation(), *plan);
    SmallVector<ScheduleOp> training, evaluation;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      (schedule.getEvaluation() ? evaluation : training).push_back(schedule);
    for (ArrayRef<ScheduleOp> schedules : {training, evaluation})
      if (!schedules.empty() && failed(check(schedules, index)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult check(ArrayRef<ScheduleOp> schedules,
                      const ScheduleIndex &index) {
    PlanOp plan = index.plan;
    bool isLocal = plan.getLaunch() == "local";
    if (failed(isLocal ? checkIsLocal(schedules)
                       : checkPlaces(schedules, plan)))
      return failure();
    for (ScheduleOp schedule : schedules)
      if (failed(checkSchedule(schedule, index)))
        return failure();
    return isLocal ? success() : proveSchedules(schedules, index);
  }
};

} // namespace
