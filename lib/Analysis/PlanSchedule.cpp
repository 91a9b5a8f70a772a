//===- PlanSchedule.cpp - From a module to the schedule library -----------===//

#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "ppopt/Analysis/StepCopies.h"

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
using ppopt::schedule::Cell;
using ppopt::schedule::StageCollective;
using ppopt::schedule::StageGraph;
using ppopt::schedule::Table;

bool pp::splitsBackward(PlanOp plan) {
  if (auto table = plan.getTable())
    return llvm::any_of(table->getTable().rows, [](const auto &row) {
      return llvm::any_of(row, [](const Cell &cell) {
        return cell.work == ppopt::schedule::Work::BackwardInput ||
               cell.work == ppopt::schedule::Work::BackwardWeight;
      });
    });
  auto shape =
      ppopt::schedule::getShape(plan.getSchedule().str(), std::nullopt);
  return shape && shape->splitsBackward;
}

static bool isForward(TaskOp task) {
  return task.getKind() == TaskKind::Forward ||
         task.getKind() == TaskKind::Evaluation;
}

namespace {

/// Collects stages and edges from tasks.
class GraphBuilder {
public:
  GraphBuilder(ModuleOp module, PlanOp plan, bool isEvaluation)
      : module(module), plan(plan), isEvaluation(isEvaluation) {
    graph.places = plan.getPlaces();
  }
  StageGraph run();
  StageGraph run(StageGraph training);

private:
  void addTask(TaskOp task);
  void addEdges();
  void addReader(CallOp call);
  TaskOp getTask(CallOp call) const {
    return tasks.lookup(call.getTaskAttr().getAttr());
  }

  ModuleOp module;
  PlanOp plan;
  bool isEvaluation;
  StageGraph graph;
  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<int64_t, size_t> edgeOf; ///< by copy
};

void GraphBuilder::addTask(TaskOp task) {
  auto number = static_cast<size_t>(task.getStage());
  if (number >= graph.stages.size())
    graph.stages.resize(number + 1,
                        {0, /*hasBackward=*/false, 0, 0, 0, {}, {}, {}, {}});
  if (!pp::getWork(task.getKind()))
    return;
  ppopt::schedule::Stage &stage = graph.stages[number];
  if (isForward(task))
    stage.place = task.getPlace();
  else
    stage.hasBackward = true;
}

/// Adds copies of microbatches, and values between stages of one place.
void GraphBuilder::addEdges() {
  for (const auto &[id, copy] : StepCopies(module))
    if (!copy.isOfStep() &&
        (isEvaluation ? copy.isInEvaluation : copy.isInTraining)) {
      edgeOf[id] = graph.edges.size();
      graph.edges.push_back(
          {static_cast<int>(copy.fromStage), static_cast<int>(copy.toStage),
           copy.gradientOf.has_value(), getAlignedBytes(copy.type)});
    }
  StepOp step = findStep(module);
  if (!step)
    return;
  std::map<std::tuple<int64_t, int64_t, bool>, int64_t> bytes;
  Region &region = isEvaluation ? step.getEvaluation() : step.getMicrobatch();
  for (auto call : region.getOps<CallOp>()) {
    addReader(call);
    TaskOp task = getTask(call);
    for (Value operand : call.getValues()) {
      auto maker = operand.getDefiningOp<CallOp>();
      TaskOp from = maker ? getTask(maker) : TaskOp();
      if (from && from.getStage() != task.getStage())
        bytes[{from.getStage(), task.getStage(), !isForward(from)}] +=
            getAlignedBytes(operand.getType());
    }
  }
  for (auto &[key, total] : bytes) {
    auto [from, to, isGradient] = key;
    graph.edges.push_back(
        {static_cast<int>(from), static_cast<int>(to), isGradient, total});
  }
}

/// Adds a call that reads copied values, if no other of its stage read them
/// before: backwards come after the forward of their stage.
void GraphBuilder::addReader(CallOp call) {
  TaskOp task = getTask(call);
  bool readsForward = isForward(task);
  if (!readsForward && task.getKind() != TaskKind::Backward &&
      task.getKind() != TaskKind::BackwardInput)
    return;
  auto stage = static_cast<int>(task.getStage());
  for (Value operand : call.getValues()) {
    auto copy = operand.getDefiningOp<CopyOp>();
    if (!copy)
      continue;
    ppopt::schedule::Edge &edge = graph.edges[edgeOf.lookup(copy.getId())];
    if (edge.isGradient != readsForward && edge.to != stage &&
        !llvm::is_contained(edge.alsoTo, stage))
      edge.alsoTo.push_back(stage);
  }
}

StageGraph GraphBuilder::run() {
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    if (task.getStage() != TaskOp::kNoStage)
      addTask(task);
  }
  addEdges();
  return std::move(graph);
}

StageGraph GraphBuilder::run(StageGraph training) {
  for (auto task : module.getOps<TaskOp>())
    tasks[task.getSymNameAttr()] = task;
  graph.stages = std::move(training.stages);
  for (ppopt::schedule::Stage &stage : graph.stages)
    stage.hasBackward = false;
  addEdges();
  return std::move(graph);
}

} // namespace

/// Returns how long compute and a span of the task overlap: all of it but
/// waits.
static double getHidden(const CollectiveTime &of, const TaskTime &time) {
  double hidden = of.end - of.start;
  for (const CollectiveTime &other : time.collectives)
    hidden -= std::max(0.0, std::min(of.end, other.waitEnd) -
                                std::max(of.start, other.waitStart));
  return std::max(hidden, 0.0);
}

static std::vector<StageCollective> describeTimed(TaskOp task,
                                                  const TaskTimes &times,
                                                  const TaskTime &time,
                                                  const geometry::Mesh &mesh) {
  std::vector<StageCollective> all;
  for (const CollectiveTime &timed : time.collectives) {
    TaskCollectiveAttr collective = timed.collective;
    geometry::Collective kind = collective.getCollective().getKind();
    StageCollective &added = all.emplace_back();
    added.kind = geometry::nounOf(kind);
    added.group = mesh.describe(collective.getGroup().getGeometry());
    added.value = collective.getWhat().str();
    added.name = geometry::nameInTrace(kind, added.getSubject());
    added.task = task.getSymName().str();
    added.channel = collective.getChannel();
    added.bytes =
        collective.getElements() * getElementBytes(collective.getType());
    added.start = timed.start;
    added.end = timed.end;
    added.waitStart = timed.waitStart;
    added.waitEnd = timed.waitEnd;
    added.hidden = getHidden(timed, time);
    added.isOfBucket = times.isOfBucket(collective);
    added.bytesSent = predictSent(collective, mesh, task.getPlace());
  }
  return all;
}

void pp::setStageTimes(ModuleOp module, PlanOp plan, const TaskTimes &times,
                       StageGraph &graph) {
  geometry::Mesh mesh = plan.getGeometry();
  for (auto task : module.getOps<TaskOp>()) {
    if (!pp::getWork(task.getKind()) || task.getKind() == TaskKind::Evaluation)
      continue;
    ppopt::schedule::Stage &stage =
        graph.stages[static_cast<size_t>(task.getStage())];
    const TaskTime &estimate = times.estimate(task);
    double time = estimate.total;
    auto collectives = describeTimed(task, times, estimate, mesh);
    switch (task.getKind()) {
    case TaskKind::Forward:
      stage.forwardTime = time;
      stage.inForward = std::move(collectives);
      break;
    case TaskKind::Backward:
      // Of the two matmuls per matmul of the forward, one is the weight's.
      stage.inputTime = time / 2;
      stage.weightTime = time / 2;
      stage.inBackward = std::move(collectives);
      break;
    case TaskKind::BackwardInput:
      stage.inputTime = time;
      stage.inInput = std::move(collectives);
      break;
    default:
      stage.weightTime = time;
      stage.inWeight = std::move(collectives);
      break;
    }
  }
}

StageGraph pp::makeUntimedGraph(ModuleOp module, PlanOp plan) {
  return GraphBuilder(module, plan, /*isEvaluation=*/false).run();
}

StageGraph pp::makeStageGraph(ModuleOp module, PlanOp plan,
                              const TaskTimes &times) {
  StageGraph graph = makeUntimedGraph(module, plan);
  setStageTimes(module, plan, times, graph);
  return graph;
}

StageGraph pp::makeEvaluationGraph(ModuleOp module, PlanOp plan,
                                   StageGraph training) {
  return GraphBuilder(module, plan, /*isEvaluation=*/true)
      .run(std::move(training));
}

std::optional<ppopt::schedule::Work> pp::getWork(TaskKind kind) {
  using ppopt::schedule::Work;
  switch (kind) {
  case TaskKind::Forward:
  case TaskKind::Evaluation:
    return Work::Forward;
  case TaskKind::Backward:
    return Work::Backward;
  case TaskKind::BackwardInput:
    return Work::BackwardInput;
  case TaskKind::BackwardWeight:
    return Work::BackwardWeight;
  default:
    return std::nullopt;
  }
}

Table pp::readTable(ModuleOp module, PlanOp plan, bool isEvaluation) {
  llvm::StringMap<TaskOp> tasks;
  for (auto task : module.getOps<TaskOp>())
    tasks[task.getSymName()] = task;
  Table table;
  table.microbatches = static_cast<int>(plan.getMicrobatches());
  table.rows.resize(plan.getPlaces());
  for (auto schedule : module.getOps<ScheduleOp>()) {
    if (isEvaluation ? !schedule.getEvaluation() : !schedule.isTraining())
      continue;
    for (auto run : schedule.getOps<RunOp>()) {
      TaskOp task = tasks.lookup(run.getTask());
      if (auto work = getWork(task.getKind()))
        table.rows[task.getPlace()].push_back(
            {*work, static_cast<int>(task.getStage()),
             static_cast<int>(run.getMicrobatch())});
    }
  }
  return table;
}

ppopt::schedule::EdgeLinks pp::getEdgeLinks(const Links &links,
                                            const StageGraph &graph) {
  ppopt::schedule::EdgeLinks ofEdges;
  for (const ppopt::schedule::Edge &edge : graph.edges) {
    const ::ppopt::schema::LinkRates &rates =
        links
            .getLevelBetween(graph.stages[edge.from].place,
                             graph.stages[edge.to].place)
            .transfer;
    ofEdges.push_back({rates.latency, rates.rate});
  }
  return ofEdges;
}

void pp::nameTable(PlanOp plan, StringRef path) {
  auto name = StringAttr::get(plan.getContext(), path);
  plan->setLoc(NameLoc::get(name, plan.getLoc()));
}

/// Returns the location of the table: the user's file, or the plan.
static Location getTableLoc(PlanOp plan) {
  auto named = dyn_cast<NameLoc>(plan.getLoc());
  return named ? Location(NameLoc::get(named.getName())) : plan.getLoc();
}

FailureOr<Table> pp::makeTable(PlanOp plan, const StageGraph &graph) {
  auto microbatches = static_cast<int>(plan.getMicrobatches());
  auto table = plan.getTable()
                   ? plan.getTable()->getTable()
                   : ppopt::schedule::generate(plan.getSchedule().str(), graph,
                                               microbatches);
  if (!table)
    return emitError(getTableLoc(plan)) << table.error, failure();
  if (table->microbatches != microbatches)
    return emitError(getTableLoc(plan))
               << "the schedule has " << table->microbatches
               << " microbatches, and the plan " << microbatches
               << "; say --microbatches " << table->microbatches,
           failure();
  if (std::string wrong = ppopt::schedule::check(*table, graph); !wrong.empty())
    return emitError(getTableLoc(plan)) << "the schedule can't run: " << wrong,
           failure();
  return ppopt::schedule::separateBackwards(*table);
}
