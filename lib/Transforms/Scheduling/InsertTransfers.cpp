//===- InsertTransfers.cpp - Sends and receives between places ------------===//
//
// Before: schedules of runs. After, for each microbatch and each transfer that
// some run reads: a pp.send after the run that makes the value, a pp.recv ahead
// of the run that reads it, and their waits (docs/stages.md). Also both ends of
// the transfers that are made once per step.
//
//   pp.run @s0_F microbatch 0          pp.recv 0 @x0 microbatch 0 slot -1
//   pp.send 0 @x0 microbatch 0 …       pp.wait 0
//   pp.run @s0_F microbatch 1          pp.run @s1_F microbatch 0
//   pp.wait 0
//
//===----------------------------------------------------------------------===//

#include "StepTransfers.h"

#include "ppopt/Analysis/PlanSchedule.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include <deque>
#include <limits>
#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTTRANSFERS
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

/// The transfer of one value of one microbatch.
struct Transit {
  TransferOp transfer;
  int64_t microbatch;
  TimedRun *maker;
  TimedRun *reader;      ///< the first reader
  unsigned receiveAhead; ///< position of the run that the receive starts before
};

/// What is inserted before the run at a position; the last gap is after the
/// last run.
struct Gap {
  SmallVector<std::pair<int64_t, Transit *>> receives;
  SmallVector<int64_t> waits;
};

/// Inserts into the schedules of all places, either of training or of
/// evaluation.
class TransferInserter {
public:
  TransferInserter(ModuleOp module, const SlotUses &uses)
      : module(module), uses(uses), builder(module.getContext()) {}

  LogicalResult run(ArrayRef<ScheduleOp> schedules,
                    const ppopt::schedule::Table &table,
                    const ppopt::schedule::StageGraph &graph);

private:
  using Value = std::pair<StringRef, int64_t>; // name, microbatch

  void collectRuns(ScheduleOp schedule);
  LogicalResult findTimes(const ppopt::schedule::Table &table,
                          const ppopt::schedule::StageGraph &graph);
  void findTransits();
  void orderReceives();
  void insert(ScheduleOp schedule);

  ModuleOp module;
  const SlotUses &uses;
  OpBuilder builder;
  std::deque<TimedRun> runs;
  std::map<int64_t, std::vector<TimedRun *>> rows; // by place
  std::map<Value, TimedRun *> makers;              // of saved values
  std::deque<Transit> transits;
  std::map<int64_t, std::vector<Gap>> gaps;
  DenseMap<Operation *, SmallVector<std::pair<int64_t, Transit *>>> sends;
  std::map<int64_t, int64_t> nextId; // by place
};

void TransferInserter::collectRuns(ScheduleOp schedule) {
  int64_t place = schedule.getPlace();
  for (Operation &action : schedule.getBody().front()) {
    if (auto start = dyn_cast<StartOp>(action))
      nextId[place] = std::max(nextId[place], start.getId() + 1);
    auto run = dyn_cast<RunOp>(action);
    TaskOp task = run ? uses.getTask(run) : TaskOp();
    if (!task || task.getStage() == TaskOp::kNoStage)
      continue;
    std::vector<TimedRun *> &row = rows[place];
    runs.push_back({run, task, place, static_cast<unsigned>(row.size())});
    row.push_back(&runs.back());
    for (const SlotUse &use : uses.of(run))
      if (use.isWrite)
        makers[{use.role.getName(), run.getMicrobatch()}] = row.back();
  }
  gaps[place].resize(rows[place].size() + 1);
}

/// Computes when each run starts if transfers take no time. This gives an order
/// of all runs that respects what they read, and in which no run is far ahead
/// of the readers of its values.
LogicalResult
TransferInserter::findTimes(const ppopt::schedule::Table &table,
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

void TransferInserter::findTransits() {
  std::map<Value, Transit *> known;
  // Runs are visited by place and position, so the first run found to read a
  // received value is its first reader.
  for (auto &[place, row] : rows)
    for (TimedRun *run : row)
      for (const SlotUse &use : uses.of(run->run)) {
        if (use.role.getKind() != RoleKind::Received)
          continue;
        int64_t microbatch = run->run.getMicrobatch();
        Transit *&transit = known[{use.role.getName(), microbatch}];
        if (transit)
          continue;
        TransferOp transfer = uses.getTransfer(
            FlatSymbolRefAttr::get(module.getContext(), use.role.getName()));
        TimedRun *maker = makers[{transfer.getValue(), microbatch}];
        transits.push_back({transfer, microbatch, maker, run,
                            run->position ? run->position - 1 : 0});
        transit = &transits.back();
      }
}

/// Starts the receives of a queue in the order of its sends. A receive may have
/// to start earlier than its reader requires because a later one does.
void TransferInserter::orderReceives() {
  std::map<std::pair<int64_t, int64_t>, SmallVector<Transit *>> queues;
  for (Transit &transit : transits)
    queues[{transit.maker->place, transit.reader->place}].push_back(&transit);
  for (auto &[ends, queue] : queues) {
    auto [from, to] = ends;
    llvm::sort(queue, [](Transit *a, Transit *b) {
      auto key = [](Transit *t) {
        return std::make_tuple(t->maker->position, t->transfer.getSymName());
      };
      return key(a) < key(b);
    });
    unsigned ahead = std::numeric_limits<unsigned>::max();
    for (Transit *transit : llvm::reverse(queue))
      transit->receiveAhead = ahead = std::min(ahead, transit->receiveAhead);
    std::vector<TimedRun *> &senders = rows[from], &readers = rows[to];
    unsigned released = 0;
    for (Transit *transit : queue) {
      int64_t sendId = nextId[from]++, receiveId = nextId[to]++;
      sends[transit->maker->run].push_back({sendId, transit});
      gaps[to][transit->receiveAhead].receives.push_back({receiveId, transit});
      gaps[to][transit->reader->position].waits.push_back(receiveId);
      // The send is waited for where the receive is sure to have started.
      double started = readers[transit->receiveAhead]->time;
      released = std::max(released, transit->maker->position + 1);
      while (released < senders.size() && senders[released]->time <= started)
        ++released;
      gaps[from][released].waits.push_back(sendId);
    }
  }
}

void TransferInserter::insert(ScheduleOp schedule) {
  auto noSlot = SlotAttr::get(module.getContext(), SlotAttr::kUnassigned);
  int64_t place = schedule.getPlace();
  std::vector<TimedRun *> &row = rows[place];
  auto fill = [&](const Gap &gap) {
    for (auto [id, transit] : gap.receives)
      RecvOp::create(builder, transit->transfer.getLoc(), id,
                     transit->transfer.getSymName(), transit->microbatch,
                     noSlot);
    for (int64_t id : gap.waits)
      WaitOp::create(builder, schedule.getLoc(), id);
  };
  for (TimedRun *run : row) {
    builder.setInsertionPoint(run->run);
    fill(gaps[place][run->position]);
    builder.setInsertionPointAfter(run->run);
    for (auto [id, transit] : sends.lookup(run->run))
      SendOp::create(builder, transit->transfer.getLoc(), id,
                     transit->transfer.getSymName(), transit->microbatch,
                     noSlot);
  }
  if (!row.empty())
    fill(gaps[place].back());
}

LogicalResult TransferInserter::run(ArrayRef<ScheduleOp> schedules,
                                    const ppopt::schedule::Table &table,
                                    const ppopt::schedule::StageGraph &graph) {
  for (ScheduleOp schedule : schedules)
    collectRuns(schedule);
  if (failed(findTimes(table, graph)))
    return failure();
  findTransits();
  orderReceives();
  for (ScheduleOp schedule : schedules)
    insert(schedule);
  return success();
}

/// Returns the graph of the stages without backwards.
ppopt::schedule::StageGraph keepForward(ppopt::schedule::StageGraph graph) {
  for (ppopt::schedule::Stage &stage : graph.stages)
    stage.hasBackward = false;
  llvm::erase_if(graph.edges, [](const ppopt::schedule::Edge &edge) {
    return edge.isGradient;
  });
  return graph;
}

struct InsertTransfers : pp::impl::InsertTransfersBase<InsertTransfers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    // ScheduleLocal inserts the transfers of a local schedule.
    if (module.getOps<TransferOp>().empty() ||
        plan->getLaunch() == Launch::local)
      return;
    SlotUses uses(module);
    ppopt::schedule::StageGraph graph = makeStageGraph(module, *plan);
    for (bool isEvaluation : {false, true}) {
      SmallVector<ScheduleOp> schedules;
      for (auto schedule : module.getOps<ScheduleOp>())
        if (schedule.getEvaluation() == isEvaluation)
          schedules.push_back(schedule);
      TransferInserter inserter(module, uses);
      if (failed(inserter.run(schedules, readTable(module, *plan, isEvaluation),
                              isEvaluation ? keepForward(graph) : graph)))
        return signalPassFailure();
    }
    for (auto schedule : module.getOps<ScheduleOp>())
      insertStepTransfers(schedule, uses);
  }
};

} // namespace
