//===- Schedule.cpp - Orders the runs of every place ----------------------===//
//
// Before: pp.step. After: for each place a pp.schedule of training and one of
// evaluation: the calls of the place on each microbatch, in the order of the
// plan's schedule; and one that exchanges averages, if there are some. What is
// copied is sent right after the run that makes it, received right before the
// first run that reads it, and waited for at once; overlap-transfers moves
// these. There are no collectives yet.
//
//   %h = pp.run @s0_F microbatch 0 ()       %in = pp.recv copy 0 microbatch 0
//   %t = pp.send copy 0 microbatch 0 (%h)   %h = pp.wait %in
//   pp.wait %t                              %l = pp.run @s1_F microbatch 0 (%h)
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_SCHEDULE
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Cell;
using Kind = ppopt::schedule::Work;

namespace {

/// Returns the forwards of all microbatches, one after the other.
std::vector<std::vector<Cell>>
makeEvaluation(const ppopt::schedule::StageGraph &graph, int microbatches) {
  std::vector<std::vector<Cell>> rows(graph.places);
  for (int microbatch = 0; microbatch < microbatches; ++microbatch)
    for (int stage = 0, e = graph.stages.size(); stage < e; ++stage)
      rows[graph.stages[stage].place].push_back(
          {Kind::Forward, stage, microbatch});
  return rows;
}

/// Builds the schedule of a place.
class PlaceBuilder {
public:
  PlaceBuilder(PlanOp plan, StepOp step, const StepIndex &index, int64_t place,
               bool isEvaluation);

  void build(ArrayRef<Cell> row);
  void buildAverage();

private:
  void begin(bool isAverage);
  void runOnce(Region &region);
  void run(CallOp call, std::optional<int64_t> microbatch,
           IntegerAttr chunk = {});
  void runCell(const Cell &cell);
  void copyBuckets(Region &region);
  Value get(Value value, std::optional<int64_t> microbatch);
  Value receive(int64_t copy, std::optional<int64_t> microbatch, Type type,
                Location loc);
  void send(int64_t copy, std::optional<int64_t> microbatch, Value value,
            Location loc);
  IntegerAttr getAttr(std::optional<int64_t> number) {
    return number ? builder.getI64IntegerAttr(*number) : IntegerAttr();
  }

  PlanOp plan;
  StepOp step;
  const StepIndex &index;
  int64_t place;
  bool isEvaluation;
  OpBuilder builder;
  /// The calls of the place in a microbatch, by stage and kind.
  std::map<std::pair<int64_t, TaskKind>, CallOp> calls;
  /// The values of the step on this place and a microbatch (-1: of the step).
  DenseMap<std::pair<Value, int64_t>, Value> values;
};

} // namespace

PlaceBuilder::PlaceBuilder(PlanOp plan, StepOp step, const StepIndex &index,
                           int64_t place, bool isEvaluation)
    : plan(plan), step(step), index(index), place(place),
      isEvaluation(isEvaluation), builder(plan.getContext()) {
  Region &region = isEvaluation ? step.getEvaluation() : step.getMicrobatch();
  for (auto call : region.getOps<CallOp>()) {
    TaskOp task = index.getTask(call.getTaskAttr());
    calls[{task.getStage(), task.getKind()}] = call;
  }
}

Value PlaceBuilder::receive(int64_t copy, std::optional<int64_t> microbatch,
                            Type type, Location loc) {
  Value coming = RecvOp::create(builder, loc, type, copy, getAttr(microbatch),
                                /*slot=*/IntegerAttr());
  return WaitOp::create(builder, loc, coming).getValue();
}

void PlaceBuilder::send(int64_t copy, std::optional<int64_t> microbatch,
                        Value value, Location loc) {
  Value sent = SendOp::create(builder, loc, copy, getAttr(microbatch), value);
  WaitOp::create(builder, loc, sent);
}

/// Returns a value of the step on this place; receives it if it is not here.
Value PlaceBuilder::get(Value value, std::optional<int64_t> microbatch) {
  Value &known = values[{value, microbatch.value_or(-1)}];
  if (!known)
    if (auto copy = value.getDefiningOp<CopyOp>())
      known = receive(copy.getId(), microbatch,
                      FutureType::get(builder.getContext(),
                                      cast<RankedTensorType>(copy.getType())),
                      copy.getLoc());
  return known;
}

void PlaceBuilder::run(CallOp call, std::optional<int64_t> microbatch,
                       IntegerAttr chunk) {
  SmallVector<Value> operands;
  for (Value operand : call.getValues())
    operands.push_back(get(operand, microbatch));
  auto run = RunOp::create(builder, index.getTask(call.getTaskAttr()).getLoc(),
                           call.getResultTypes(), call.getTaskAttr(),
                           builder.getI64IntegerAttr(microbatch.value_or(0)),
                           chunk, operands, /*slots=*/DenseI64ArrayAttr());
  for (auto [result, made] : llvm::zip(call.getResults(), run.getResults()))
    values[{result, microbatch.value_or(-1)}] = made;
  SmallVector<CopyOp> copies;
  for (Operation *user : call->getUsers())
    if (auto copy = dyn_cast<CopyOp>(user))
      copies.push_back(copy);
  llvm::sort(copies, [](CopyOp a, CopyOp b) { return a.getId() < b.getId(); });
  for (CopyOp copy : copies)
    send(copy.getId(), microbatch,
         values.lookup({copy.getX(), microbatch.value_or(-1)}), copy.getLoc());
}

/// Runs one task for a full backward, or its input part and weight part.
void PlaceBuilder::runCell(const Cell &cell) {
  auto runKind = [&](TaskKind kind) {
    auto found = calls.find({cell.stage, kind});
    if (found != calls.end())
      run(found->second, cell.microbatch);
    return found != calls.end();
  };
  switch (cell.work) {
  case Kind::Forward:
    if (!runKind(TaskKind::Forward))
      runKind(TaskKind::Evaluation);
    if (isEvaluation)
      runKind(TaskKind::Loss);
    return;
  case Kind::BackwardInput:
    runKind(TaskKind::BackwardInput);
    return;
  case Kind::BackwardWeight:
    runKind(TaskKind::BackwardWeight);
    return;
  case Kind::Backward:
    if (runKind(TaskKind::Backward))
      return;
    runKind(TaskKind::BackwardInput);
    runKind(TaskKind::BackwardWeight);
    return;
  case Kind::Sum:
  case Kind::Update:
    break;
  }
  llvm_unreachable("all kinds of work of a table are listed");
}

/// Starts this place's ends of the region's copies of buckets, all of them
/// before their waits.
void PlaceBuilder::copyBuckets(Region &region) {
  SmallVector<std::pair<CopyBucketOp, Value>> started;
  for (auto copy : region.getOps<CopyBucketOp>()) {
    if (copy.getFrom() == place) {
      started.emplace_back(copy, SendOp::create(builder, copy.getLoc(),
                                                copy.getId(), IntegerAttr(),
                                                /*value=*/Value()));
    } else if (copy.getTo() == place) {
      Type type = TokenType::get(builder.getContext());
      if (Value gradients = copy.getGradients())
        type = FutureType::get(builder.getContext(),
                               cast<RankedTensorType>(gradients.getType()));
      started.emplace_back(copy, RecvOp::create(builder, copy.getLoc(), type,
                                                copy.getId(), IntegerAttr(),
                                                /*slot=*/IntegerAttr()));
    }
  }
  for (auto &[copy, start] : started) {
    auto wait = WaitOp::create(builder, copy.getLoc(), start);
    if (wait.getValue())
      values[{copy.getGradients(), -1}] = wait.getValue();
  }
}

/// Runs a region that is called once per step, or once.
void PlaceBuilder::runOnce(Region &region) {
  for (auto call : region.getOps<CallOp>()) {
    TaskOp task = index.getTask(call.getTaskAttr());
    if (task.getPlace() != place)
      continue;
    int64_t chunks = countChunkRuns(plan, task);
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      run(call, std::nullopt, builder.getI64IntegerAttr(chunk));
    if (chunks == 0)
      run(call, std::nullopt);
  }
}

void PlaceBuilder::begin(bool isAverage) {
  builder.setInsertionPointToEnd(step->getParentOfType<ModuleOp>().getBody());
  auto schedule =
      ScheduleOp::create(builder, plan.getLoc(), place, isEvaluation, isAverage,
                         ArrayRef<int64_t>{},
                         /*slot_places=*/DenseI64ArrayAttr());
  builder.createBlock(&schedule.getBody());
}

void PlaceBuilder::buildAverage() {
  begin(/*isAverage=*/true);
  runOnce(step.getAverage());
}

void PlaceBuilder::build(ArrayRef<Cell> row) {
  begin(/*isAverage=*/false);
  ZeroOp::create(builder, plan.getLoc());
  // A nested sum needs all microbatches of the sums inside it.
  for (auto call : step.getPrologue().getOps<CallOp>())
    if (index.getTask(call.getTaskAttr()).getPlace() == place)
      for (int64_t i = 0, e = plan.getMicrobatches(); i < e; ++i)
        run(call, i);
  copyBuckets(step.getBegin());
  if (!isEvaluation)
    runOnce(step.getBegin());
  for (const Cell &cell : row)
    runCell(cell);
  if (isEvaluation)
    return;
  copyBuckets(step.getEnd());
  runOnce(step.getEnd());
}

/// Returns whether some place has no stage: outputs may need others alone.
static bool leavesPlacesOut(const ppopt::schedule::StageGraph &graph) {
  DenseSet<int> used;
  for (const auto &stage : graph.stages)
    used.insert(stage.place);
  return used.size() < static_cast<size_t>(graph.places);
}

namespace {

struct Schedule : pp::impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAnalysesPreserved<TaskTimes>();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    if (plan->getLaunch() == Launch::local)
      return; // schedule-local orders the runs
    StepOp step = findStep(module);
    if (!step) {
      module.emitError("there is no pp.step to make schedules of");
      return signalPassFailure();
    }
    ppopt::schedule::StageGraph graph =
        makeStageGraph(module, *plan, getAnalysis<TaskTimes>());
    auto evaluation = makeEvaluation(graph, plan->getMicrobatches());
    std::vector<std::vector<Cell>> training = evaluation;
    if (!leavesPlacesOut(graph)) {
      FailureOr<ppopt::schedule::Table> table = makeTable(*plan, graph);
      if (failed(table))
        return signalPassFailure();
      training = std::move(table->rows);
    }
    StepIndex index(module);
    for (int64_t place = 0; place < graph.places; ++place) {
      PlaceBuilder(*plan, step, index, place, /*isEvaluation=*/false)
          .build(training[place]);
      PlaceBuilder(*plan, step, index, place, /*isEvaluation=*/true)
          .build(evaluation[place]);
      if (!step.getAverage().empty())
        PlaceBuilder(*plan, step, index, place, /*isEvaluation=*/false)
            .buildAverage();
    }
  }
};

} // namespace
