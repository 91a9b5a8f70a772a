//===- ListSchedule.cpp - naive, gpipe, 1f1b, zb-h1 on any graph ----------===//
//
// A free place runs the ready cell that the policy ranks first. Time is counted
// in units (a forward, an input and a weight part take one each), so that the
// table does not change with measured costs, and equals the published one on a
// chain with one stage per place.
//
// Each stage processes its microbatches in order. So only three cells per stage
// are candidates, and gradients sum up in one order under all schedules. It
// also rules out deadlock: for the earliest microbatch with a forward or an
// input part left, only a weight part that may run can block the first of
// these.
//
//===----------------------------------------------------------------------===//

#include "Dependencies.h"
#include "Generators.h"
#include "RunAhead.h"

#include <algorithm>
#include <climits>

using namespace ppopt::schedule;

namespace {

/// What a place prefers, and how many microbatches it admits.
struct Policy {
  /// A place runs all its forwards before its first backward.
  bool flushes = false;
  /// The weight part fills the time in which neither an input part nor a
  /// forward may run.
  bool splitsBackward = false;
};

/// The progress of one stage.
struct Progress {
  int forwards = 0, backwards = 0, weights = 0;
  /// Microbatches whose backward, and whose readers' forwards, have ended.
  int returned = 0, read = 0;
};

class ListScheduler {
public:
  ListScheduler(const StageGraph &graph, int microbatches, Policy policy)
      : graph(graph), microbatches(microbatches), policy(policy),
        dependencies(graph), runAhead(getRunAhead(graph)),
        endOf(graph, microbatches, INT_MAX), progress(graph.stages.size()),
        stagesOf(graph.places), placeFree(graph.places, 0),
        forwardsLeft(graph.places, 0) {
    deepest = *std::max_element(runAhead.ofBackward.begin(),
                                runAhead.ofBackward.end());
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

  bool hasReturned(int stage, int microbatch, int now) {
    return !graph.stages[stage].hasBackward ||
           endOf.at(stage, /*isGradient=*/true, microbatch) <= now;
  }

  bool isRead(int stage, int microbatch, int now) {
    for (int edge : dependencies.getOutgoing(stage, Work::Forward))
      for (int reader : graph.edges[edge].getReaders())
        if (endOf.at(reader, /*isGradient=*/false, microbatch) > now)
          return false;
    return true;
  }

  /// Returns whether the stage may run ahead by one more microbatch.
  bool hasRoom(int stage, int now) {
    if (policy.flushes)
      return true;
    Progress &mine = progress[stage];
    while (mine.returned < mine.forwards &&
           hasReturned(stage, mine.returned, now))
      ++mine.returned;
    while (mine.read < mine.forwards && isRead(stage, mine.read, now))
      ++mine.read;
    return mine.forwards - mine.returned < runAhead.ofBackward[stage] &&
           mine.forwards - mine.read < runAhead.ofReaders[stage];
  }

  /// Returns whether as many activations wait for their weight parts as the
  /// deepest stage holds in any case.
  bool isFull(int stage) const {
    return policy.splitsBackward && graph.stages[stage].hasBackward &&
           progress[stage].forwards - progress[stage].weights >= deepest;
  }

  /// Purposes of a cell, in order of preference.
  enum Purpose {
    Enter,    ///< a forward
    MakeRoom, ///< a weight part, because the next forward needs its memory
    TurnBack, ///< a full backward or an input part
    WindUp    ///< a weight part, because no forward is left
  };

  /// Returns the stage's next cell for a purpose, if the policy permits it.
  std::optional<Cell> getNext(int stage, Purpose purpose, int now) {
    const Progress &mine = progress[stage];
    bool hasBackward = graph.stages[stage].hasBackward;
    bool isEntering = mine.forwards < microbatches;
    switch (purpose) {
    case Enter:
      if (isEntering && hasRoom(stage, now) && !isFull(stage))
        return Cell{Work::Forward, stage, mine.forwards};
      break;
    case MakeRoom:
      if (isEntering && hasRoom(stage, now) && isFull(stage))
        return Cell{Work::BackwardWeight, stage, mine.weights};
      break;
    case TurnBack:
      if (hasBackward && mine.backwards < microbatches &&
          !(policy.flushes && forwardsLeft[graph.stages[stage].place] > 0))
        return Cell{policy.splitsBackward ? Work::BackwardInput
                                          : Work::Backward,
                    stage, mine.backwards};
      break;
    case WindUp:
      if (policy.splitsBackward && hasBackward && !isEntering &&
          mine.weights < microbatches)
        return Cell{Work::BackwardWeight, stage, mine.weights};
      break;
    }
    return std::nullopt;
  }

  /// Returns the first ready cell: by purpose, by microbatch, and by the
  /// stage's distance to the end of the forward or of the backward pass, larger
  /// first.
  std::optional<Cell> choose(int place, int now) {
    for (Purpose purpose : {Enter, MakeRoom, TurnBack, WindUp}) {
      std::optional<Cell> best;
      for (int stage : stagesOf[place]) {
        std::optional<Cell> cell = getNext(stage, purpose, now);
        if (!cell || !isReady(*cell, now))
          continue;
        if (!best || cell->microbatch < best->microbatch ||
            (purpose == TurnBack && cell->microbatch == best->microbatch))
          best = cell;
      }
      if (best)
        return best;
    }
    return std::nullopt;
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
  const Policy policy;
  Dependencies dependencies;
  const RunAhead runAhead;
  int deepest = 1;
  ValueMap<int> endOf;
  std::vector<Progress> progress; ///< by stage
  std::vector<std::vector<int>> stagesOf;
  std::vector<int> placeFree, forwardsLeft; ///< by place
  int64_t cellsLeft = 0;
  Table table;
};

} // namespace

Table ppopt::schedule::generateGPipe(const StageGraph &graph,
                                     int microbatches) {
  Policy policy;
  policy.flushes = true;
  return ListScheduler(graph, microbatches, policy).run();
}

Table ppopt::schedule::generateOneForwardOneBackward(const StageGraph &graph,
                                                     int microbatches) {
  return ListScheduler(graph, microbatches, {}).run();
}

Table ppopt::schedule::generateZeroBubbleH1(const StageGraph &graph,
                                            int microbatches) {
  Policy policy;
  policy.splitsBackward = true;
  return ListScheduler(graph, microbatches, policy).run();
}
