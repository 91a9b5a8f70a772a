//===- ProgressProof.cpp - No rank of the schedules waits forever ---------===//
//
// The ranks of a place differ only in their other coordinates. They run one
// table, their transfers go to ranks with the same coordinates, and each
// collective includes all of them or one of each place. So all ranks of a place
// can do at a moment what one of them can, and a sum over dp is complete when
// the one rank that represents the place has started it. The proof therefore
// uses one rank per place, numbered as the place.
//
// A collective inside a task is over ranks of one place, which run the task's
// collectives in one order.
//
// A local schedule is taken apart into the actions of each place.
//
// Where a rank has one queue for all communication, its tables are proved with
// that.
//
// Steps that carry gathers over to what follows are proved in rounds, one after
// the other: a step, the step after it, an evaluation, another one; an exchange
// with averages, before an evaluation and after it. Each begins with all
// gathers in flight, or with none (the first, and after an evaluation or an
// exchange), so these rounds are all cases. The end waits for them too.
//
//===----------------------------------------------------------------------===//

#include "ProgressProof.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ActionListBuilder.h"

using namespace mlir;
using namespace mlir::pp;
namespace schedule = ppopt::schedule;

namespace {

/// Returns whether a schedule waits for what an earlier one has started.
bool isCarried(ScheduleOp schedule) {
  return schedule.getBody().getNumArguments() > 0;
}

/// Proves rounds that follow one another.
LogicalResult prove(ArrayRef<ArrayRef<ScheduleOp>> rounds, StringRef what,
                    const ScheduleIndex &index) {
  PlanOp plan = index.plan;
  ActionListBuilder builder(index, plan.hasOneQueue());
  for (auto [round, schedules] : llvm::enumerate(rounds))
    for (ScheduleOp schedule : schedules)
      if (failed(builder.add(schedule, round)))
        return failure();
  builder.finish();
  std::string wrong = schedule::proveProgress(builder.get());
  if (wrong.empty())
    return success();
  return mlir::emitError(plan.getLoc())
         << "the " << what
         << "schedules of the places do not fit together (rank N stands for "
         << (plan.getLaunch() == Launch::local ? "" : "all of ")
         << "place N): " << wrong;
}

} // namespace

LogicalResult pp::proveSchedules(const ScheduleLists &lists,
                                 const ScheduleIndex &index) {
  auto [training, evaluation, average] = lists.all();
  if (llvm::any_of(training, isCarried)) {
    SmallVector<ArrayRef<ScheduleOp>> rounds = {training, training, evaluation,
                                                evaluation, training};
    if (!average.empty())
      rounds.append({average, evaluation, average, training});
    return prove(rounds, "", index);
  }
  return success(succeeded(prove(training, "", index)) &&
                 succeeded(prove(evaluation, "evaluation's ", index)) &&
                 succeeded(prove(average, "averages' ", index)));
}
