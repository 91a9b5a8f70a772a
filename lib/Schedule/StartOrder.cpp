//===- StartOrder.cpp - One order of communications on all ranks ----------===//

#include "ppopt/Schedule/StartOrder.h"

#include "Queues.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

using namespace ppopt::schedule;

namespace {

/// One run of all ranks. The rank with the earliest clock acts next, so
/// communications complete in the order of their times.
class TimedWalk {
public:
  explicit TimedWalk(const ActionLists &lists)
      : lists(lists), next(lists.ranks.size()),
        blockedOn(lists.communications.size()), queues(lists.communications) {
    for (size_t rank = 0; rank < lists.ranks.size(); ++rank)
      clocks.push({0, static_cast<int>(rank)});
  }

  std::vector<int> run() {
    while (!clocks.empty()) {
      auto [time, rank] = clocks.top();
      clocks.pop();
      act(rank, time);
    }
    return std::move(completed);
  }

private:
  /// Whether the rank's next action is of a communication with itself.
  bool isWithin(int rank) const {
    if (next[rank] == lists.ranks[rank].size())
      return false;
    const RankAction &action = lists.ranks[rank][next[rank]];
    return action.kind != RankAction::Run &&
           lists.communications[action.communication].ranks.size() == 1;
  }

  /// Performs the next action, and those within a run after it.
  void act(int rank, double time) {
    do {
      if (next[rank] == lists.ranks[rank].size())
        return;
      const RankAction &action = lists.ranks[rank][next[rank]];
      if (action.kind == RankAction::Wait &&
          !queues.isComplete(action.communication)) {
        blockedOn[action.communication].push_back(rank);
        return;
      }
      ++next[rank];
      time += action.time;
      if (action.kind == RankAction::Start)
        start(rank, action.communication, time);
    } while (isWithin(rank));
    clocks.push({time, rank});
  }

  void start(int rank, int communication, double time) {
    size_t first = completed.size();
    queues.start(rank, communication, completed);
    for (size_t i = first; i < completed.size(); ++i) {
      for (int blocked : blockedOn[completed[i]])
        clocks.push({time, blocked});
      blockedOn[completed[i]].clear();
    }
  }

  using Clock = std::pair<double, int>; ///< time, rank

  const ActionLists &lists;
  std::vector<size_t> next; ///< action by rank
  std::vector<std::vector<int>> blockedOn;
  Queues queues;
  std::priority_queue<Clock, std::vector<Clock>, std::greater<Clock>> clocks;
  std::vector<int> completed;
};

} // namespace

std::vector<int>
ppopt::schedule::findCompletionOrder(const ActionLists &lists) {
  return TimedWalk(lists).run();
}

std::vector<MovedStart>
ppopt::schedule::findMovedStarts(const std::vector<RankAction> &actions,
                                 const std::vector<int> &order,
                                 const std::vector<bool> &isFixed) {
  std::vector<size_t> positions;
  for (size_t i = 0; i < order.size(); ++i) {
    size_t communication = static_cast<size_t>(order[i]);
    positions.resize(std::max(positions.size(), communication + 1), 0);
    positions[communication] = i;
  }
  std::vector<std::pair<size_t, size_t>> starts; // position, index
  for (size_t index = 0; index < actions.size(); ++index)
    if (actions[index].kind == RankAction::Start)
      starts.push_back({positions.at(actions[index].communication), index});
  std::sort(starts.begin(), starts.end());
  std::vector<MovedStart> moved;
  size_t last = 0;
  for (auto [position, index] : starts) {
    if (index < last && !isFixed[index])
      moved.push_back({index, last});
    last = std::max(last, index);
  }
  return moved;
}
