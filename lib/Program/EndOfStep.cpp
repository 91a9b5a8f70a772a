//===- EndOfStep.cpp - Sums and updates of a predicted step ---------------===//

#include "ppopt/Program/EndOfStep.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/Links.h"
#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
using ppopt::schedule::SlowPlace;
using ppopt::schedule::TimedCell;
using ppopt::schedule::Timeline;
using Kind = ppopt::schedule::Work;

namespace {

/// A collective of some places, each with all of its ranks.
struct Collective {
  size_t missing = 0; ///< places that have not started it
  double start = 0, end = 0;
};

/// The position of one place in its schedule.
struct Walk {
  explicit Walk(ScheduleOp schedule)
      : schedule(schedule), at(schedule.getBody().front().begin()) {}

  ScheduleOp schedule;
  Block::iterator at;
  size_t cell = 0; ///< of the row: the next stage's
  double now = 0;
  llvm::DenseMap<Value, Collective *> started; ///< by token
  llvm::SmallVector<double> gathered;          ///< when, by argument
  std::map<int64_t, std::map<std::vector<int64_t>, int64_t>>
      count; ///< of a channel and its places
};

class EndOfStep {
public:
  EndOfStep(ModuleOp module, PlanOp plan, const TaskTimes &times,
            const SlowPlace &slow, Timeline &timeline)
      : mesh(plan.getGeometry()), links(times.getLinks()), times(times),
        buffers(module), slow(slow), timeline(timeline) {
    for (auto task : module.getOps<TaskOp>())
      tasks[task.getSymName()] = task;
    for (auto schedule : module.getOps<ScheduleOp>())
      if (schedule.isTraining())
        walks.emplace_back(schedule);
    for (Walk &walk : walks)
      carry(walk);
    for (Walk &walk : walks)
      stages.push_back(timeline.rows[walk.schedule.getPlace()].size());
  }

  /// Places wait for each other: each advances as far as it can, in turns.
  void run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (auto [walk, cells] : llvm::zip(walks, stages))
        while (walk.at != walk.schedule.getBody().front().end() &&
               doAction(walk, cells, &*walk.at)) {
          ++walk.at;
          moved = true;
        }
    }
    for (Walk &walk : walks)
      timeline.end = std::max(timeline.end, walk.now);
    delay();
  }

private:
  /// Returns false if the place has to wait for others.
  bool doAction(Walk &walk, size_t cells, Operation *action) {
    std::vector<TimedCell> &row = timeline.rows[walk.schedule.getPlace()];
    if (auto start = dyn_cast<StartOp>(action)) {
      begin(walk, start);
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      if (auto argument = dyn_cast<BlockArgument>(wait.getStarted())) {
        double reader = walk.cell < cells ? row[walk.cell].start : walk.now;
        delayed =
            std::max(delayed, walk.gathered[argument.getArgNumber()] - reader);
        return true;
      }
      Collective *waited = walk.started.lookup(wait.getStarted());
      if (!waited) // a transfer, which is simulated already
        return true;
      if (waited->missing > 0)
        return false;
      if (walk.cell == cells)
        add(row, walk, Kind::Sum, waited->end);
    } else if (auto run = dyn_cast<RunOp>(action)) {
      TaskOp task = tasks.lookup(run.getTask());
      if (pp::getWork(task.getKind()))
        walk.now = row[walk.cell++].end;
      else if (walk.cell == cells)
        add(row, walk, Kind::Update,
            walk.now +
                times.estimate(task).total * slow.getFactor(task.getPlace()));
    }
    return true;
  }

  /// The gathers that the step before has left in flight end one after the
  /// other.
  void carry(Walk &walk) {
    double end = 0;
    for (Value token : walk.schedule.getYielded()) {
      if (auto start = token.getDefiningOp<StartOp>())
        end += estimateTime(start);
      walk.gathered.push_back(end);
    }
  }

  /// Begins the step as late as the last of the carried gathers demands: all
  /// places wait until then.
  void delay() {
    if (delayed <= 0)
      return;
    auto shift = [&](auto &timed) {
      timed.start += delayed;
      timed.end += delayed;
    };
    for (std::vector<TimedCell> &row : timeline.rows) {
      llvm::for_each(row, shift);
      if (!row.empty())
        row.insert(row.begin(),
                   {{Kind::Sum, row.front().cell.stage, 0}, 0, delayed});
    }
    llvm::for_each(timeline.transfers, shift);
    timeline.end += delayed;
  }

  /// Collectives of one channel and the same places run one after the other.
  void begin(Walk &walk, StartOp start) {
    std::vector<int64_t> places =
        mesh.placesOf(start.getGroup().getGeometry(), walk.schedule.getPlace());
    int64_t channel = start.getChannel();
    int64_t number = walk.count[channel][places]++;
    auto [found, isNew] = collectives.try_emplace({channel, places, number});
    Collective &collective = found->second;
    if (isNew)
      collective.missing = places.size();
    walk.started[start.getToken()] = &collective;
    collective.start = std::max(collective.start, walk.now);
    if (--collective.missing > 0)
      return;
    double &free = freeAt[{channel, places}];
    free = collective.end =
        std::max(collective.start, free) + estimateTime(start);
  }

  double estimateTime(StartOp start) {
    FailureOr<CollectiveOperand> operand =
        buffers.getOperand(start, start.getPlaceOfStart());
    int64_t size = succeeded(operand)
                       ? operand->elements * getElementBytes(operand->type)
                       : 0;
    return links.estimateTime(start.getKind(), size,
                              start.getGroup().getGeometry(),
                              start.getPlaceOfStart());
  }

  static void add(std::vector<TimedCell> &row, Walk &walk, Kind work,
                  double end) {
    if (end <= walk.now)
      return;
    if (!row.empty() && row.back().cell.work == work)
      row.back().end = end;
    else
      row.push_back(
          {{work, row.empty() ? 0 : row.front().cell.stage, 0}, walk.now, end});
    walk.now = end;
  }

  geometry::Mesh mesh;
  const Links &links;
  const TaskTimes &times;
  BufferIndex buffers;
  const SlowPlace &slow;
  Timeline &timeline;
  llvm::StringMap<TaskOp> tasks;
  std::vector<Walk> walks;
  std::vector<size_t> stages; ///< runs of stages, by walk
  double delayed = 0;
  std::map<std::tuple<int64_t, std::vector<int64_t>, int64_t>, Collective>
      collectives;
  std::map<std::pair<int64_t, std::vector<int64_t>>, double> freeAt;
};

} // namespace

void pp::addEndOfStep(ModuleOp module, PlanOp plan, const TaskTimes &times,
                      const SlowPlace &slow, Timeline &timeline) {
  EndOfStep(module, plan, times, slow, timeline).run();
}
