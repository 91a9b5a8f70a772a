//===- ListSchedule.cpp - naive, gpipe, 1f1b, zb-h1 on any graph ----------===//
//
// A place that is free runs the ready cell that stands first in the policy.
// Time is counted in units (a forward, an input and a weight part take one
// each), so that the table does not change with measured costs, and is on a
// chain of one stage a place the published one.
//
// Each stage takes its microbatches in order. That bounds what has to be looked
// at to three cells a stage; it makes gradients sum up in one order under all
// schedules; and it rules out deadlock: of the earliest microbatch that is not
// finished, the first cell that did not run is never held back by a limit,
// since only earlier microbatches, which are finished, stand before it.
//
//===----------------------------------------------------------------------===//

#include "Dependencies.h"
#include "Generators.h"

#include <algorithm>
#include <climits>

using namespace ppopt::schedule;

/// The most stages on a way from `from` to each stage along forward edges, -1
/// where there is no way.
static std::vector<int> getHops(const StageGraph &graph,
                                const Dependencies &dependencies, int from) {
  std::vector<int> hops(graph.stages.size(), -1);
  hops[from] = 0;
  for (size_t stage = from; stage < hops.size(); ++stage)
    if (hops[stage] != -1)
      for (int edge : dependencies.getOutgoing(stage, Work::Forward)) {
        int &reader = hops[graph.edges[edge].to];
        reader = std::max(reader, hops[stage] + 1);
      }
  return hops;
}

/// How far a stage may run ahead of its own backwards and of those that read
/// its output: as far as it must for the last stage never to wait. On a chain
/// that is the number of stages from it to the end; nothing is gained by more.
static std::vector<int> getLimits(const StageGraph &graph,
                                  const Dependencies &dependencies) {
  int stages = static_cast<int>(graph.stages.size());
  std::vector<int> limits(stages, 1);
  for (int stage = stages - 1; stage >= 0; --stage) {
    std::vector<int> hops = getHops(graph, dependencies, stage);
    for (int edge : dependencies.getOutgoing(stage, Work::Forward))
      limits[stage] = std::max(limits[stage], hops[graph.edges[edge].to] + 1);
    for (const Value &value : dependencies.getReads(stage, Work::Backward))
      if (value.isGradient)
        limits[stage] =
            std::max(limits[stage], hops[value.stage] + limits[value.stage]);
  }
  return limits;
}

namespace {

/// How far one stage has come.
struct Progress {
  int forwards = 0, backwards = 0, weights = 0;
  /// Microbatches that count no more against the limit.
  int closed = 0;
};

class ListScheduler {
public:
  ListScheduler(const StageGraph &graph, int microbatches,
                const ListPolicy &policy)
      : graph(graph), microbatches(microbatches), policy(policy),
        dependencies(graph), limits(getLimits(graph, dependencies)),
        endOf(graph, microbatches, INT_MAX), progress(graph.stages.size()),
        stagesOf(graph.places), placeFree(graph.places, 0),
        forwardsLeft(graph.places, 0) {
    deepest = *std::max_element(limits.begin(), limits.end());
    for (size_t stage = 0; stage < graph.stages.size(); ++stage) {
      int place = graph.stages[stage].place;
      stagesOf[place].push_back(static_cast<int>(stage));
      forwardsLeft[place] += microbatches;
      cellsLeft += microbatches;
      if (graph.stages[stage].hasBackward)
        cellsLeft += microbatches * (policy.splitsBackward ? 2 : 1);
    }
    table.microbatches = microbatches;
    table.rows.resize(graph.places);
  }

  Table run() {
    for (int now = 0; cellsLeft > 0; ++now)
      for (int place = 0; place < graph.places; ++place)
        if (placeFree[place] <= now)
          if (std::optional<Cell> cell = choose(place, now))
            start(*cell, place, now);
    return std::move(table);
  }

private:
  bool isReady(const Cell &cell, int now) {
    for (const Value &value : dependencies.getReads(cell.stage, cell.work))
      if (endOf.at(value.stage, value.isGradient, cell.microbatch) > now)
        return false;
    return true;
  }

  /// Counts out the microbatches that the stage and the readers of its output
  /// are through with.
  void close(int stage, int now) {
    Progress &mine = progress[stage];
    auto isOver = [&](int reader, bool isGradient) {
      return endOf.at(reader, isGradient, mine.closed) <= now;
    };
    while (mine.closed < mine.forwards) {
      if (!isOver(stage, graph.stages[stage].hasBackward))
        return;
      for (int edge : dependencies.getOutgoing(stage, Work::Forward))
        if (!isOver(graph.edges[edge].to, /*isGradient=*/false))
          return;
      ++mine.closed;
    }
  }

  bool mayEnter(int stage, int now) {
    if (policy.flushes)
      return true;
    close(stage, now);
    const Progress &mine = progress[stage];
    if (mine.forwards - mine.closed >= limits[stage])
      return false;
    return !policy.splitsBackward || !graph.stages[stage].hasBackward ||
           mine.forwards - mine.weights < deepest;
  }

  /// The ready cell that comes first: a backward, then a forward, then a weight
  /// part; of these the earliest microbatch; of these the stage that is
  /// farthest from the end of its pass.
  std::optional<Cell> choose(int place, int now) {
    std::optional<Cell> best;
    auto offer = [&](const Cell &cell) {
      if (cell.microbatch < microbatches &&
          (!best || cell.microbatch < best->microbatch) && isReady(cell, now))
        best = cell;
    };
    const std::vector<int> &stages = stagesOf[place];
    Work backward =
        policy.splitsBackward ? Work::BackwardInput : Work::Backward;
    if (!policy.flushes || forwardsLeft[place] == 0)
      for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage)
        if (graph.stages[*stage].hasBackward)
          offer({backward, *stage, progress[*stage].backwards});
    if (best)
      return best;
    for (int stage : stages)
      if (mayEnter(stage, now))
        offer({Work::Forward, stage, progress[stage].forwards});
    if (best || !policy.splitsBackward)
      return best;
    for (int stage : stages)
      if (graph.stages[stage].hasBackward)
        offer({Work::BackwardWeight, stage, progress[stage].weights});
    return best;
  }

  void start(const Cell &cell, int place, int now) {
    int end = now + (cell.work == Work::Backward ? 2 : 1);
    Progress &mine = progress[cell.stage];
    if (cell.work == Work::Forward) {
      ++mine.forwards;
      --forwardsLeft[place];
    } else if (cell.work == Work::BackwardWeight) {
      ++mine.weights;
    } else {
      ++mine.backwards;
    }
    if (cell.work != Work::BackwardWeight)
      endOf.at(cell.stage, makesGradient(cell.work), cell.microbatch) = end;
    placeFree[place] = end;
    --cellsLeft;
    table.rows[place].push_back(cell);
  }

  const StageGraph &graph;
  const int microbatches;
  const ListPolicy &policy;
  Dependencies dependencies;
  std::vector<int> limits;
  int deepest = 1;
  ValueMap<int> endOf;
  std::vector<Progress> progress; ///< by stage
  std::vector<std::vector<int>> stagesOf;
  std::vector<int> placeFree, forwardsLeft; ///< by place
  int64_t cellsLeft = 0;
  Table table;
};

} // namespace

Table ppopt::schedule::generateList(const StageGraph &graph, int microbatches,
                                    const ListPolicy &policy) {
  return ListScheduler(graph, microbatches, policy).run();
}
