//===- PlanReport.cpp - Predicted time and memory of a plan ---------------===//

#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "KernelReports.h"
#include "LinkReport.h"
#include "ShardedState.h"

#include "ppopt/Program/EndOfStep.h"
#include "ppopt/Program/NcclMemory.h"
#include "ppopt/Program/PredictCounts.h"
#include "ppopt/Program/Program.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Boundary;
using ppopt::schedule::MemoryStep;
using ppopt::schedule::SlowPlace;
using ppopt::schedule::StageNote;
using ppopt::schedule::TimedCell;
using ppopt::schedule::Timeline;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// "4x32xf32"
static std::string spellShape(Type type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto shaped = cast<ShapedType>(type);
  for (int64_t size : shaped.getShape())
    out << size << "x";
  out << shaped.getElementType();
  return text;
}

/// "4x16xf32, [{dp}, {tp}]" of what a rank has, if an axis of the model cuts
/// it. That a rank has its rows of the batch goes without saying.
static std::string spellPart(Type type, ShardingAttr sharding) {
  std::string text = spellShape(type);
  auto isOfModel = [](const DimCut &cut) {
    return cut.axis != kMicrobatchAxis &&
           ::ppopt::geometry::useOf(cut.axis.getValue()) ==
               ::ppopt::geometry::AxisUse::Model;
  };
  if (!sharding || llvm::none_of(sharding.getCuts(), isOfModel))
    return text;
  return text + ", " + spellSharding(sharding);
}

/// Adds what a stage's forward reads, also for evaluation's loss, for frozen
/// stages and for what evaluations compute otherwise. Training and evaluation
/// may read the same.
static void addRead(TaskOp task, StageReport &stage) {
  auto &parameters = stage.note.parameters;
  auto &inputs = stage.note.inputs;
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    Type type = task.getArgumentTypes()[i];
    std::string name = role.getName().str();
    bool isKnown = llvm::any_of(parameters, [&](const auto &parameter) {
      return parameter.name == name;
    });
    if (role.getKind() == RoleKind::Param && !isKnown)
      parameters.push_back({name,
                            spellPart(type, task.getArgAttrOfType<ShardingAttr>(
                                                i, kShardingAttr)),
                            getBytes(type)});
    else if (role.getKind() == RoleKind::Input &&
             !llvm::is_contained(inputs, name))
      inputs.push_back(name);
  }
}

static int64_t countOps(TaskOp task) {
  return llvm::count_if(
      task.getBody().front().without_terminator(),
      [](Operation &op) { return !op.hasTrait<OpTrait::ConstantLike>(); });
}

/// Adds what the backwards of each stage take of forwards: what these make, and
/// what they have received.
static void describeSaved(ModuleOp module, std::vector<StageReport> &stages) {
  StepOp step = findStep(module);
  if (!step)
    return;
  llvm::StringMap<TaskOp> tasks;
  for (auto task : module.getOps<TaskOp>())
    tasks[task.getSymName()] = task;
  auto isOfForward = [&](Value value) {
    if (auto copy = value.getDefiningOp<CopyOp>())
      return !copy.getGradientOf();
    return tasks.lookup(value.getDefiningOp<CallOp>().getTask()).getKind() ==
           TaskKind::Forward;
  };
  // The two parts of a split backward may take the same value.
  std::vector<DenseSet<Value>> saved(stages.size());
  for (auto call : step.getMicrobatch().getOps<CallOp>()) {
    TaskOp task = tasks.lookup(call.getTask());
    if (task.getKind() == TaskKind::Forward)
      continue;
    for (Value value : call.getValues())
      if (isOfForward(value) && saved[task.getStage()].insert(value).second)
        stages[task.getStage()].savedBytes += getBytes(value.getType());
  }
}

static std::vector<StageReport>
describeStages(ModuleOp module, const StepCopies &copies, size_t count) {
  std::vector<StageReport> stages(count);
  for (auto task : module.getOps<TaskOp>())
    switch (StageReport &stage = stages[task.getStage()]; task.getKind()) {
    case TaskKind::Forward:
    case TaskKind::Loss:
      stage.ops += countOps(task);
      [[fallthrough]];
    case TaskKind::Evaluation:
      addRead(task, stage);
      break;
    default:
      break;
    }
  for (const auto &[id, copy] : copies) {
    if (copy.isOfStep() || !copy.isInTraining)
      continue;
    auto from = static_cast<int>(copy.fromStage);
    auto to = static_cast<int>(copy.toStage);
    Boundary boundary;
    boundary.name = copy.getName();
    boundary.isGradient = copy.gradientOf.has_value();
    boundary.type = spellPart(copy.type, copy.sharding);
    boundary.bytes = getBytes(copy.type);
    boundary.requiresGrad = copy.requiresGrad;
    boundary.peer = to;
    stages[from].note.boundaries.push_back(boundary);
    boundary.peer = from;
    boundary.isReceived = true;
    stages[to].note.boundaries.push_back(boundary);
  }
  describeSaved(module, stages);
  return stages;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Returns when each action of a place's schedule ends; actions other than runs
/// of stages take no time. The row may begin with a wait for gathers.
static std::vector<double> findTimes(ScheduleOp schedule,
                                     const StepIndex &index,
                                     const std::vector<TimedCell> &row,
                                     bool wantsStart) {
  std::vector<double> times;
  auto next = llvm::find_if(row, [](const TimedCell &timed) {
    return timed.cell.work != ppopt::schedule::Work::Sum;
  });
  double now = 0;
  for (Operation &action : schedule.getBody().front()) {
    auto run = dyn_cast<RunOp>(action);
    double start = now;
    if (run && pp::getWork(index.getTask(run).getKind())) {
      start = next->start;
      now = next->end;
      ++next;
    }
    times.push_back(wantsStart ? start : now);
  }
  return times;
}

/// Returns the bytes in slots, from each time at which they change.
static std::vector<MemoryStep> traceSlots(ScheduleOp schedule,
                                          const StepIndex &index,
                                          const std::vector<TimedCell> &row) {
  std::vector<double> starts = findTimes(schedule, index, row, true);
  std::vector<double> ends = findTimes(schedule, index, row, false);
  std::map<double, int64_t> changes;
  for (const SlotLifetime &life : findLifetimes(schedule, index)) {
    changes[starts[life.begin]] += life.bytes;
    changes[ends[life.end]] -= life.bytes;
  }
  std::vector<MemoryStep> steps;
  int64_t bytes = 0;
  for (auto [time, change] : changes)
    if (change != 0)
      steps.push_back({time, bytes += change});
  return steps;
}

/// Describes the transfers that run once per step.
static std::vector<LoanReport> describeLoans(const StepCopies &copies) {
  std::vector<LoanReport> loans;
  for (const auto &[id, copy] : copies)
    if (copy.isOfStep())
      loans.push_back({copy.getName(), copy.from, copy.to, getBytes(copy.type),
                       copy.gradientOf.has_value()});
  return loans;
}

static std::map<int64_t, int64_t> countSent(ScheduleOp schedule,
                                            const StepIndex &index) {
  std::map<int64_t, int64_t> sent;
  for (auto send : schedule.getOps<SendOp>()) {
    const StepCopy &copy = *index.getCopy(send);
    sent[copy.to] += getBytes(copy.type);
  }
  return sent;
}

/// Adds up the collectives inside the tasks of a place over the predicted step.
static void sumCollectives(const PlanReport &report, int number,
                           PlaceReport &place) {
  place.hidden = place.exposed = 0;
  for (const TimedCell &timed : report.timeline.rows[number])
    for (const auto &collective : ppopt::schedule::getCollectives(
             report.graph.stages[timed.cell.stage], timed.cell.work)) {
      place.hidden += collective.hidden;
      place.exposed += collective.getExposed();
    }
}

/// Simulates the step of the module's schedules of ranks.
static Timeline simulateStep(ModuleOp module, PlanOp plan,
                             const PlanReport &report, const TaskTimes &times,
                             const SlowPlace &slow) {
  Timeline timeline = ppopt::schedule::simulate(
      report.table, ppopt::schedule::slowDown(report.graph, slow),
      getEdgeLinks(times.getLinks(), report.graph));
  addEndOfStep(module, plan, times, slow, timeline);
  return timeline;
}

static void predictStep(ModuleOp module, PlanOp plan, const StepIndex &index,
                        const TaskTimes &times, PlanReport &report) {
  // One process in program order has no timeline of places.
  if (plan.getLaunch() == Launch::local)
    return;
  report.timeline = simulateStep(module, plan, report, times, {});
  for (auto schedule : module.getOps<ScheduleOp>()) {
    if (!schedule.isTraining())
      continue;
    auto number = static_cast<int>(schedule.getPlace());
    PlaceReport &place = report.places[number];
    place.idleShare = report.timeline.getIdleShare(number);
    sumCollectives(report, number, place);
    place.activations =
        traceSlots(schedule, index, report.timeline.rows[number]);
  }
}

/// Sets the tokens of a step: the elements of the first input that is a matrix
/// of ids. A model without one has samples.
static void setWork(ModuleOp module, PlanReport &report) {
  report.workUnit = "samples";
  report.work = report.batch;
  for (auto input : module.getOps<InputDeclOp>()) {
    auto type = cast<RankedTensorType>(input.getType());
    unsigned bits =
        type.getElementType().isInteger() ? type.getElementTypeBitWidth() : 0;
    if (type.getRank() != 2 || (bits != 32 && bits != 64))
      continue;
    report.workUnit = "tok";
    report.work = type.getNumElements() * (report.batch / type.getDimSize(0));
    return;
  }
}

FailureOr<PlanReport> pp::reportSchedule(ModuleOp module, bool predicts) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  PlanReport report;
  report.batch = plan->getJobBatch();
  setWork(module, report);
  report.trainers = plan->getTrainers();
  report.microbatches = plan->getMicrobatches();
  report.deviceMemory = plan->getDeviceMemory().value_or(0);
  report.graph = makeUntimedGraph(module, *plan);
  report.table = readTable(module, *plan, /*isEvaluation=*/false);
  StepIndex index(module);
  bool isLocal = plan->getLaunch() == Launch::local;
  report.timeline.rows.resize(report.graph.places);
  for (const auto &[id, copy] : index.getCopies())
    if (!copy.isOfStep() && copy.isInTraining)
      report.edgeNames.push_back(copy.getName());
  report.loans = describeLoans(index.getCopies());
  report.stages =
      describeStages(module, index.getCopies(), report.graph.stages.size());

  for (const PlaceContents &contents : collectPlaces(module, *plan)) {
    PlaceReport &place = report.places.emplace_back();
    for (auto [stage, node] : llvm::zip(report.stages, report.graph.stages))
      place.savedBytes += node.place == contents.place ? stage.savedBytes : 0;
    for (TaskOp task : contents.tasks)
      if (auto flops = task->getAttrOfType<IntegerAttr>(kRecomputedAttr))
        place.recomputedFlops += flops.getInt() * report.microbatches;
    auto number = static_cast<int>(contents.place);
    for (int64_t rank : plan->getJobMesh().ranksOf(contents.place))
      place.ranks.push_back(rank);
    place.inFlight =
        report.timeline.getInFlight(report.table, report.graph, number);
    for (ScheduleOp schedule : contents.schedules)
      if (schedule.isTraining() && !isLocal)
        place.sentTo = countSent(schedule, index);
  }
  if (!predicts)
    return report;
  TaskTimes times(module);
  setStageTimes(module, *plan, times, report.graph);
  predictStep(module, *plan, index, times, report);
  return report;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Adds what a rank of a trainer exchanges with the owners per step.
static void addExchanged(PlanOp plan, const PlaceContents &contents,
                         PlaceReport &place) {
  int64_t trainers = plan.getTrainers();
  for (BucketOp bucket : contents.buckets) {
    if (!bucket.getOwners())
      continue;
    int64_t elements = bucket.getElements() / trainers * (trainers - 1);
    place.pulledBytes += elements * getElementBytes(bucket.getType());
    place.pushedBytes += elements * getElementBytes(getGradType(bucket));
  }
}

LogicalResult pp::predictLaunches(ModuleOp module, PlanReport &report) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  TaskTimes times(module);
  setStageTimes(module, *plan, times, report.graph);
  predictStep(module, *plan, StepIndex(module), times, report);
  return success();
}

LogicalResult pp::addMemory(ModuleOp module, PlanReport &report) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  for (PlaceReport &place : report.places)
    for (StringRef kind :
         {"step_state", "parameters", "gradients", "optimizer", "inputs",
          "activations", "workspace", "communication"})
      place.memory[kind] = 0;
  if (plan->getSync() != Sync::step)
    for (PlaceReport &place : report.places)
      place.memory[stringifyMemoryKind(MemoryKind::Masters)] = 0;
  for (auto region : module.getOps<RegionOp>()) {
    if (region->hasAttr(kOverlaidAttr))
      continue;
    PlaceReport &place = report.places[region.getPlace()];
    int64_t bytes = region.getBytes();
    place.memory[stringifyMemoryKind(region.getKind())] += bytes;
    place.arenaBytes += bytes;
    if (region.getBuffer().getKind() == BufferKind::Temps)
      place.temporaryBytes = bytes;
  }
  for (auto [place, bytes] :
       llvm::zip_equal(report.places, getNcclBytes(module, *plan)))
    place.ncclBytes = bytes;
  return predictLaunches(module, report);
}

LogicalResult pp::addBytesSent(ModuleOp module, PlanReport &report) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  ProgramIndex index(module);
  for (const PlaceContents &contents : collectPlaces(module, *plan))
    report.places[contents.place].bytesSent =
        predictCounts(*plan, contents, index).bytesSent;
  return success();
}

LogicalResult pp::addCounts(ModuleOp module, PlanReport &report) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  addLinks(module, report);
  report.shards = describeShards(module, *plan);
  FailureOr<schema::Program> program = buildProgram(module);
  if (failed(program))
    return failure();
  SmallVector<int64_t> checkpointBytes = predictCheckpointBytes(*program);
  Device device = getDevice(module);
  for (const PlaceContents &contents : collectPlaces(module, *plan)) {
    PlaceReport &place = report.places[contents.place];
    const schema::Predicted &counts = program->places[contents.place].predicted;
    place.flops = counts.flops;
    place.launches = counts.launches;
    place.bytesSent = counts.bytesSent;
    addExchanged(*plan, contents, place);
    addSharded(module, *plan, contents, place);
    place.checkpointBytes = checkpointBytes[contents.place];
    if (device.roofline)
      place.kernels = describeKernels(module, contents, device);
  }
  return success();
}

FailureOr<SlowRank>
pp::predictSlowRank(ModuleOp module, const PlanReport &report, double factor) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  TaskTimes times(module);
  SlowRank worst;
  for (int place = 0; place < report.graph.places; ++place) {
    double step =
        simulateStep(module, *plan, report, times, {place, factor}).end;
    if (step > worst.step)
      worst = {place, step};
  }
  return worst;
}
