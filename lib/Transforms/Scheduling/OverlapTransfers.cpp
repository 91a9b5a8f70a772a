//===- OverlapTransfers.cpp - Transfers beside runs -----------------------===//
//
// Before: schedules in which each send follows the run that makes the value,
// each receive is right before the first run that reads it, and both are waited
// for at once. After: receives start ahead, in the order of the sends, and
// sends are waited for where their receives are sure to have started
// (docs/stages.md). Also moves the waits for copies of buckets.
//
//   %t = pp.send copy 0 microbatch 0 (%h)   %in = pp.recv copy 0 microbatch 0
//   pp.run @s0_F microbatch 1               %h = pp.wait %in
//   pp.wait %t                              pp.run @s1_F microbatch 0 (%h)
//
//===----------------------------------------------------------------------===//

#include "BucketWaits.h"
#include "ScheduleIndex.h"

#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include <deque>
#include <limits>
#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_OVERLAPTRANSFERS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A run of a stage's task. Runs are in the order of their place.
struct TimedRun {
  RunOp run;
  TaskOp task;
  int64_t place;
  unsigned position; ///< among the place's runs
  double time = 0;   ///< simulated start
};

/// A copy of a microbatch.
struct Transit {
  SendOp send;
  RecvOp recv;
  TimedRun *maker = nullptr;
  TimedRun *reader = nullptr; ///< the first reader
  unsigned receiveAhead = 0;  ///< position of the run that the receive precedes
};

/// What moves to before the run at a position; the last gap is after the last
/// run.
struct Gap {
  SmallVector<Operation *> receives, waits;
};

/// Moves actions in the schedules of all places, either of training or of
/// evaluation.
class TransferMover {
public:
  TransferMover(ModuleOp module, const StepIndex &index)
      : module(module), index(index) {}

  LogicalResult run(ArrayRef<ScheduleOp> schedules,
                    const ppopt::schedule::Table &table,
                    const ppopt::schedule::StageGraph &graph);

private:
  void collect(ScheduleOp schedule);
  LogicalResult findTimes(const ppopt::schedule::Table &table,
                          const ppopt::schedule::StageGraph &graph);
  void orderReceives();
  void move(int64_t place);

  ModuleOp module;
  const StepIndex &index;
  std::deque<TimedRun> runs;
  std::map<int64_t, std::vector<TimedRun *>> rows;         // by place
  std::map<std::pair<int64_t, int64_t>, Transit> transits; // copy, microbatch
  std::map<int64_t, std::vector<Gap>> gaps;                // by place
  DenseMap<Operation *, SmallVector<Operation *>> sends;   // by maker
};

/// Returns the wait for what an action has started.
WaitOp getWait(Value started) { return cast<WaitOp>(*started.user_begin()); }

void TransferMover::collect(ScheduleOp schedule) {
  int64_t place = schedule.getPlace();
  std::vector<TimedRun *> &row = rows[place];
  SmallVector<Transit *> received; // before the next run
  for (Operation &action : schedule.getBody().front()) {
    if (auto send = dyn_cast<SendOp>(action); send && send.getMicrobatch()) {
      Transit &transit = transits[{send.getCopy(), *send.getMicrobatch()}];
      transit.send = send;
      transit.maker = row.back();
    } else if (auto recv = dyn_cast<RecvOp>(action);
               recv && recv.getMicrobatch()) {
      Transit &transit = transits[{recv.getCopy(), *recv.getMicrobatch()}];
      transit.recv = recv;
      received.push_back(&transit);
    }
    auto run = dyn_cast<RunOp>(action);
    TaskOp task = run ? index.getTask(run) : TaskOp();
    if (!task || task.getStage() == TaskOp::kNoStage)
      continue;
    runs.push_back({run, task, place, static_cast<unsigned>(row.size())});
    row.push_back(&runs.back());
    for (Transit *transit : received) {
      transit->reader = row.back();
      transit->receiveAhead = std::max<unsigned>(row.size(), 2) - 2;
    }
    received.clear();
  }
  gaps[place].resize(row.size() + 1);
}

/// Computes when each run starts if transfers take no time. This gives an order
/// of all runs that respects what they read, and in which no run is far ahead
/// of the readers of its values.
LogicalResult
TransferMover::findTimes(const ppopt::schedule::Table &table,
                         const ppopt::schedule::StageGraph &graph) {
  if (std::string wrong = ppopt::schedule::check(table, graph); !wrong.empty())
    return module.emitError("the schedule can't run: ") << wrong, failure();
  ppopt::schedule::Timeline timeline =
      ppopt::schedule::simulate(table, graph, ppopt::schedule::Link());
  for (auto &[place, row] : rows) {
    // A run that is no cell of the table (evaluation's loss) has the time of
    // the run before it.
    const auto *timed = timeline.rows[place].data();
    double start = 0;
    for (TimedRun *run : row) {
      if (getWork(run->task.getKind()))
        start = (timed++)->start;
      run->time = start;
    }
  }
  return success();
}

/// Starts the receives of a queue in the order of its sends. A receive may have
/// to start earlier than its reader requires because a later one does.
void TransferMover::orderReceives() {
  std::map<std::pair<int64_t, int64_t>, SmallVector<Transit *>> queues;
  for (auto &[key, transit] : transits)
    queues[{transit.maker->place, transit.reader->place}].push_back(&transit);
  for (auto &[ends, queue] : queues) {
    auto [from, to] = ends;
    llvm::sort(queue, [](Transit *a, Transit *b) {
      auto key = [](Transit *t) {
        return std::make_pair(t->maker->position, t->send.getCopy());
      };
      return key(a) < key(b);
    });
    unsigned ahead = std::numeric_limits<unsigned>::max();
    for (Transit *transit : llvm::reverse(queue))
      transit->receiveAhead = ahead = std::min(ahead, transit->receiveAhead);
    std::vector<TimedRun *> &senders = rows[from], &readers = rows[to];
    unsigned released = 0;
    for (Transit *transit : queue) {
      sends[transit->maker->run].push_back(transit->send);
      gaps[to][transit->receiveAhead].receives.push_back(transit->recv);
      gaps[to][transit->reader->position].waits.push_back(
          getWait(transit->recv.getStarted()));
      // The send is waited for where the receive is sure to have started.
      double started = readers[transit->receiveAhead]->time;
      released = std::max(released, transit->maker->position + 1);
      while (released < senders.size() && senders[released]->time <= started)
        ++released;
      gaps[from][released].waits.push_back(getWait(transit->send.getToken()));
    }
  }
}

void TransferMover::move(int64_t place) {
  std::vector<TimedRun *> &row = rows[place];
  auto fill = [](const Gap &gap, auto moveOp) {
    llvm::for_each(gap.receives, moveOp);
    llvm::for_each(gap.waits, moveOp);
  };
  Operation *last = nullptr;
  auto moveAfter = [&](Operation *op) {
    op->moveAfter(last);
    last = op;
  };
  for (TimedRun *run : row) {
    fill(gaps[place][run->position],
         [&](Operation *op) { op->moveBefore(run->run); });
    last = run->run;
    llvm::for_each(sends.lookup(run->run), moveAfter);
  }
  if (!row.empty())
    fill(gaps[place].back(), moveAfter);
}

LogicalResult TransferMover::run(ArrayRef<ScheduleOp> schedules,
                                 const ppopt::schedule::Table &table,
                                 const ppopt::schedule::StageGraph &graph) {
  for (ScheduleOp schedule : schedules)
    collect(schedule);
  if (failed(findTimes(table, graph)))
    return failure();
  orderReceives();
  for (ScheduleOp schedule : schedules)
    move(schedule.getPlace());
  return success();
}

struct OverlapTransfers : pp::impl::OverlapTransfersBase<OverlapTransfers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAnalysesPreserved<TaskTimes>();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    StepIndex index(module);
    // A local schedule copies at once.
    if (index.getCopies().empty() || plan->getLaunch() == Launch::local)
      return;
    ppopt::schedule::StageGraph graph =
        makeStageGraph(module, *plan, getAnalysis<TaskTimes>());
    ScheduleLists lists(module);
    for (bool isEvaluation : {false, true}) {
      TransferMover mover(module, index);
      if (failed(mover.run(isEvaluation ? lists.evaluation : lists.training,
                           readTable(module, *plan, isEvaluation),
                           isEvaluation
                               ? makeEvaluationGraph(module, *plan, graph)
                               : graph)))
        return signalPassFailure();
    }
    MemoryUses uses(module, BufferIndex(module));
    for (auto schedule : module.getOps<ScheduleOp>())
      moveBucketWaits(schedule, index, uses);
  }
};

} // namespace
