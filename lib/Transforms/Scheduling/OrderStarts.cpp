//===- OrderStarts.cpp - One order of communication on all ranks ----------===//
//
// Applies if all communication of a rank goes through one blocking queue.
// Before: a start is where its data are ready, a receive one run before its
// reader. After: all ranks start what they have in common in one order; some
// starts are later in their lists, none after its wait.
//
//   %g = pp.recv copy 1 microbatch 0       %h = pp.run @s0_F microbatch 1
//   %h = pp.run @s0_F microbatch 1         %t = pp.send copy 0 microbatch 1
//   (%h) %t = pp.send copy 0 microbatch 1 (%h)  %g = pp.recv copy 1 microbatch
//   0 pp.wait %g                             pp.wait %g
//
// The order is that in which communications complete in a simulation
// (StartOrder.h); pp-verify-schedule proves the result.
//
//===----------------------------------------------------------------------===//

#include "ActionListBuilder.h"

#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Schedule/StartOrder.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ORDERSTARTS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::MovedStart;
using ppopt::schedule::RankAction;

namespace {

void moveStarts(ArrayRef<MovedStart> moved, ArrayRef<Operation *> ops) {
  DenseMap<Operation *, Operation *> lastAfter;
  for (const MovedStart &each : moved) {
    Operation *after = ops[each.after];
    Operation *&last = lastAfter.try_emplace(after, after).first->second;
    ops[each.start]->moveAfter(last);
    last = ops[each.start];
  }
}

struct OrderStarts : pp::impl::OrderStartsBase<OrderStarts> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (!plan->hasOneQueue())
      return;
    ScheduleIndex index(getOperation(), *plan);
    if (failed(checkCopies(getOperation(), index.step)))
      return signalPassFailure();
    const TaskTimes &times = getAnalysis<TaskTimes>();
    ScheduleLists lists(getOperation());
    for (ArrayRef<ScheduleOp> schedules : lists.all())
      if (failed(order(schedules, index, times)))
        return signalPassFailure();
  }

private:
  static LogicalResult order(ArrayRef<ScheduleOp> schedules,
                             const ScheduleIndex &index,
                             const TaskTimes &times) {
    ActionListBuilder builder(index, /*oneQueue=*/false, &times);
    for (ScheduleOp schedule : schedules)
      if (failed(builder.add(schedule, /*round=*/0)))
        return failure();
    builder.finish();
    const ::ppopt::schedule::ActionLists &lists = builder.get();
    std::vector<int> completed = ::ppopt::schedule::findCompletionOrder(lists);
    if (completed.size() != lists.communications.size())
      return success(); // pp-verify-schedule says who waits forever
    for (int64_t place = 0; place < index.places; ++place) {
      ArrayRef<Operation *> ops = builder.getOps(place);
      std::vector<bool> isInTask;
      for (Operation *op : ops)
        isInTask.push_back(isa_and_present<RunOp>(op));
      moveStarts(::ppopt::schedule::findMovedStarts(lists.ranks[place],
                                                    completed, isInTask),
                 ops);
    }
    return success();
  }
};

} // namespace
