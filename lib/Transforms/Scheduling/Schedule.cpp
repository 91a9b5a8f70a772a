//===- Schedule.cpp - Orders the runs of every place ----------------------===//
//
// Before: tasks. After: for each place a pp.schedule of training and one of
// evaluation, with the runs of its tasks in the order of the plan's schedule.
// There is no communication yet.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_SCHEDULE
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Cell;
using ppopt::schedule::Work;

namespace {

/// Returns the forwards of all microbatches, one after the other.
std::vector<std::vector<Cell>>
makeEvaluation(const ppopt::schedule::StageGraph &graph, int microbatches) {
  std::vector<std::vector<Cell>> rows(graph.places);
  for (int microbatch = 0; microbatch < microbatches; ++microbatch)
    for (int stage = 0, e = graph.stages.size(); stage < e; ++stage)
      rows[graph.stages[stage].place].push_back(
          {Work::Forward, stage, microbatch});
  return rows;
}

struct Schedule : pp::impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    if (plan->getLaunch() == Launch::local)
      return; // schedule-local orders the runs
    ppopt::schedule::StageGraph graph = makeStageGraph(module, *plan);
    FailureOr<ppopt::schedule::Table> table = makeTable(*plan, graph);
    if (failed(table))
      return signalPassFailure();
    for (auto task : module.getOps<TaskOp>()) {
      if (task.getStage() == TaskOp::kNoStage)
        ofPlace[task.getPlace()].push_back(task);
      else
        ofStage[{task.getStage(), task.getKind()}] = task;
    }
    auto evaluation = makeEvaluation(graph, table->microbatches);
    for (int64_t place = 0; place < graph.places; ++place) {
      build(*plan, place, table->rows[place], /*isEvaluation=*/false);
      build(*plan, place, evaluation[place], /*isEvaluation=*/true);
    }
  }

private:
  void build(PlanOp plan, int64_t place, ArrayRef<Cell> row, bool isEvaluation);
  SmallVector<TaskOp, 2> getTasks(const Cell &cell);

  /// The tasks of each place, and the tasks of each stage by kind.
  std::map<int64_t, SmallVector<TaskOp>> ofPlace;
  std::map<std::pair<int64_t, TaskKind>, TaskOp> ofStage;
};

/// Returns one task for a full backward, or its input part and weight part.
SmallVector<TaskOp, 2> Schedule::getTasks(const Cell &cell) {
  auto find = [&](TaskKind kind) {
    auto found = ofStage.find({cell.stage, kind});
    return found == ofStage.end() ? TaskOp() : found->second;
  };
  switch (cell.work) {
  case Work::Forward:
    return {find(TaskKind::Forward)};
  case Work::BackwardInput:
    return {find(TaskKind::BackwardInput)};
  case Work::BackwardWeight:
    return {find(TaskKind::BackwardWeight)};
  case Work::Backward:
    if (TaskOp full = find(TaskKind::Backward))
      return {full};
    return {find(TaskKind::BackwardInput), find(TaskKind::BackwardWeight)};
  case Work::Sum:
  case Work::Update:
    break;
  }
  llvm_unreachable("all kinds of work of a table are listed");
}

void Schedule::build(PlanOp plan, int64_t place, ArrayRef<Cell> row,
                     bool isEvaluation) {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto schedule = ScheduleOp::create(builder, plan.getLoc(), place,
                                     isEvaluation, ArrayRef<int64_t>{},
                                     /*slot_places=*/DenseI64ArrayAttr());
  builder.createBlock(&schedule.getBody());
  auto run = [&](TaskOp task, int64_t microbatch, IntegerAttr chunk = {}) {
    RunOp::create(builder, task.getLoc(), task.getSymName(), microbatch, chunk,
                  /*bindings=*/ArrayAttr());
  };
  auto runOnce = [&](TaskKind kind) {
    for (TaskOp task : ofPlace[place]) {
      if (task.getKind() != kind)
        continue;
      int64_t chunks = countChunkRuns(plan, task);
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        run(task, /*microbatch=*/0, builder.getI64IntegerAttr(chunk));
      if (chunks == 0)
        run(task, /*microbatch=*/0);
    }
  };
  ZeroOp::create(builder, plan.getLoc());
  // A nested sum needs all microbatches of the sums inside it.
  for (TaskOp task : ofPlace[place])
    for (int64_t i = 0, e = plan.getMicrobatches(); i < e; ++i)
      if (task.getKind() == TaskKind::Prologue)
        run(task, i);
  for (const Cell &cell : row) {
    for (TaskOp task : getTasks(cell))
      run(task, cell.microbatch);
    auto loss = ofStage.find({cell.stage, TaskKind::Loss});
    if (isEvaluation && loss != ofStage.end())
      run(loss->second, cell.microbatch);
  }
  if (isEvaluation)
    return;
  runOnce(TaskKind::Collect);
  runOnce(TaskKind::Norm);
  runOnce(TaskKind::Decide);
  runOnce(TaskKind::Update);
}

} // namespace
