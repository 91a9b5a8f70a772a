//===- Rendezvous.cpp - Can a set of action lists deadlock? ---------------===//

#include "ppopt/Schedule/Rendezvous.h"

#include "Queues.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

using namespace ppopt::schedule;

namespace {

std::string spellRank(int rank) { return "rank " + std::to_string(rank); }

/// "action 5, after forward of stage 1, microbatch 3"
std::string spellAction(const ActionLists &lists, int rank, size_t index) {
  const std::vector<RankAction> &actions = lists.ranks[rank];
  std::string text = "action " + std::to_string(index);
  for (size_t before = index; before-- > 0;)
    if (actions[before].kind == RankAction::Run)
      return text + ", after " + actions[before].text;
  return text;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

bool takesPart(const Communication &communication, int rank) {
  return std::find(communication.ranks.begin(), communication.ranks.end(),
                   rank) != communication.ranks.end();
}

/// Checks that all indices exist. Otherwise there is nothing to simulate.
std::string checkIndices(const ActionLists &lists) {
  int ranks = static_cast<int>(lists.ranks.size());
  int count = static_cast<int>(lists.communications.size());
  for (const Communication &communication : lists.communications) {
    std::vector<int> sorted = communication.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty())
      return communication.text + " has no rank that takes part in it";
    if (sorted.front() < 0 || sorted.back() >= ranks)
      return communication.text + " is of " +
             spellRank(sorted.front() < 0 ? sorted.front() : sorted.back()) +
             ", and there are " + std::to_string(ranks) + " ranks";
    auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      return communication.text + " has " + spellRank(*twice) + " twice";
  }
  for (int rank = 0; rank < ranks; ++rank)
    for (size_t index = 0; index < lists.ranks[rank].size(); ++index) {
      const RankAction &action = lists.ranks[rank][index];
      if (action.kind == RankAction::Run)
        continue;
      if (action.communication < 0 || action.communication >= count)
        return spellRank(rank) + ", " + spellAction(lists, rank, index) +
               ": is of communication " + std::to_string(action.communication) +
               ", and there are " + std::to_string(count);
      const Communication &of = lists.communications[action.communication];
      if (!takesPart(of, rank))
        return spellRank(rank) + ", " + spellAction(lists, rank, index) + ":" +
               (action.kind == RankAction::Start ? " starts " : " waits for ") +
               of.text + ", in which it takes no part";
    }
  return "";
}

/// Checks that each end starts once and then waits once.
std::string checkEnds(const ActionLists &lists) {
  // Per rank, so that memory is proportional to the communications.
  constexpr size_t none = static_cast<size_t>(-1);
  size_t count = lists.communications.size();
  std::vector<size_t> startedAt(count), waitedAt(count);
  std::vector<std::vector<int>> ofRank(lists.ranks.size());
  for (size_t communication = 0; communication < count; ++communication)
    for (int rank : lists.communications[communication].ranks)
      ofRank[rank].push_back(static_cast<int>(communication));

  for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank) {
    for (int communication : ofRank[rank])
      startedAt[communication] = waitedAt[communication] = none;
    for (size_t index = 0; index < lists.ranks[rank].size(); ++index) {
      const RankAction &action = lists.ranks[rank][index];
      if (action.kind == RankAction::Run)
        continue;
      bool isStart = action.kind == RankAction::Start;
      size_t &at = (isStart ? startedAt : waitedAt)[action.communication];
      if (at != none)
        return spellRank(rank) + (isStart ? " starts " : " waits for ") +
               lists.communications[action.communication].text +
               " twice: actions " + std::to_string(at) + " and " +
               std::to_string(index);
      at = index;
    }
    for (int communication : ofRank[rank]) {
      const std::string &text = lists.communications[communication].text;
      if (startedAt[communication] == none)
        return spellRank(rank) + " never starts " + text +
               ", in which it takes part";
      if (waitedAt[communication] == none)
        return spellRank(rank) + " never waits for " + text +
               ", which it starts";
      if (waitedAt[communication] < startedAt[communication])
        return spellRank(rank) + " waits for " + text + " (action " +
               std::to_string(waitedAt[communication]) +
               ") before it starts it (action " +
               std::to_string(startedAt[communication]) + ")";
    }
  }
  return "";
}

/// Checks that the ends of a queue agree: if every rank started everything at
/// once, in the order of its list, all would complete. All ends exist.
std::string checkOrder(const ActionLists &lists) {
  Queues queues(lists.communications);
  std::vector<int> finished;
  for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank)
    for (const RankAction &action : lists.ranks[rank])
      if (action.kind == RankAction::Start)
        queues.start(rank, action.communication, finished);

  auto [rank, mine] = queues.getFirstHead();
  if (rank < 0)
    return "";
  for (int other : lists.communications[mine].ranks) {
    int theirs = queues.getHead(other, lists.communications[mine].queue);
    if (theirs != mine)
      return "the ends of a queue do not agree on its order: " +
             spellRank(rank) + " starts " + lists.communications[mine].text +
             " where " + spellRank(other) + " starts " +
             lists.communications[theirs].text;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

/// One run of all ranks, as far as possible.
class Walk {
public:
  explicit Walk(const ActionLists &lists)
      : lists(lists), next(lists.ranks.size()),
        blockedOn(lists.communications.size()), queues(lists.communications) {
    for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int rank = ready.front();
      ready.pop_front();
      advance(rank);
    }
  }

  bool hasEnded(int rank) const {
    return next[rank] == lists.ranks[rank].size();
  }
  /// Returns the wait that blocks a rank that has not ended.
  size_t getPosition(int rank) const { return next[rank]; }
  const Queues &getQueues() const { return queues; }

private:
  void advance(int rank) {
    std::vector<int> finished;
    for (; !hasEnded(rank); ++next[rank]) {
      const RankAction &action = lists.ranks[rank][next[rank]];
      if (action.kind == RankAction::Start)
        queues.start(rank, action.communication, finished);
      if (action.kind == RankAction::Wait &&
          !queues.isComplete(action.communication)) {
        blockedOn[action.communication].push_back(rank);
        break;
      }
    }
    for (int communication : finished) {
      ready.insert(ready.end(), blockedOn[communication].begin(),
                   blockedOn[communication].end());
      blockedOn[communication].clear();
    }
  }

  const ActionLists &lists;
  std::vector<size_t> next;
  std::vector<std::vector<int>> blockedOn;
  Queues queues;
  std::deque<int> ready;
};

/// Why a communication does not complete.
struct Cause {
  enum Kind {
    NeverStarted, ///< `rank` does not start it at all
    StartedLater, ///< `rank` starts it after the wait that blocks it
    Held,         ///< on `rank`, `on` is before it in the queue
  } kind;
  int rank;
  int on = -1; ///< the communication that must complete first
};

class Explanation {
public:
  Explanation(const ActionLists &lists, const Walk &walk)
      : lists(lists), walk(walk) {}

  /// Every rank that has not ended waits for something that does not complete.
  /// Returns the shortest path to a missing end or, if there is none, the
  /// shortest cycle.
  std::string spell() {
    for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank)
      if (!walk.hasEnded(rank))
        waits.push_back(rank);
    if (waits.empty())
      return "";
    std::vector<Step> best = findMissing();
    if (best.empty())
      best = findCycle();
    std::string text = "deadlock:";
    for (size_t i = 0; i < best.size(); ++i) {
      // The last of a cycle leads to its first.
      const Cause &to = i > 0 ? best[i - 1].cause : best[0].reachedBy;
      text += "\n  " + spellStep(best[i].communication, to, best[i].cause);
    }
    return text;
  }

private:
  struct Step {
    int communication;
    Cause cause;
    Cause reachedBy; ///< of the first one only
  };

  int getWaited(int rank) const {
    return lists.ranks[rank][walk.getPosition(rank)].communication;
  }

  std::vector<Cause> getCauses(int communication) const {
    const Communication &of = lists.communications[communication];
    std::vector<Cause> causes;
    for (int rank : of.ranks) {
      if (walk.getQueues().isStarted(rank, communication)) {
        int head = walk.getQueues().getHead(rank, of.queue);
        if (head != communication)
          causes.push_back({Cause::Held, rank, head});
        continue;
      }
      const std::vector<RankAction> &actions = lists.ranks[rank];
      bool isLater = std::any_of(actions.begin() + walk.getPosition(rank),
                                 actions.end(), [&](const RankAction &action) {
                                   return action.kind == RankAction::Start &&
                                          action.communication == communication;
                                 });
      if (isLater)
        causes.push_back({Cause::StartedLater, rank, getWaited(rank)});
      else
        causes.push_back({Cause::NeverStarted, rank});
    }
    return causes;
  }

  /// Searches breadth first from `roots`, until a cause satisfies `isEnd`.
  template <typename IsEnd>
  std::vector<Step> search(const std::vector<int> &roots, IsEnd isEnd) {
    std::map<int, std::pair<int, Cause>> from; // predecessor, cause
    std::deque<int> queue;
    for (int root : roots)
      if (from.insert({root, {-1, {}}}).second)
        queue.push_back(root);
    for (; !queue.empty(); queue.pop_front()) {
      int at = queue.front();
      auto known = causesOf.find(at);
      if (known == causesOf.end())
        known = causesOf.insert({at, getCauses(at)}).first;
      for (const Cause &cause : known->second) {
        if (isEnd(cause)) {
          std::vector<Step> steps = {{at, cause, {}}};
          for (int to = at; from[to].first >= 0; to = from[to].first)
            steps.push_back({from[to].first, from[to].second, {}});
          std::reverse(steps.begin(), steps.end());
          return steps;
        }
        if (cause.on >= 0 && from.insert({cause.on, {at, cause}}).second)
          queue.push_back(cause.on);
      }
    }
    return {};
  }

  std::vector<Step> findMissing() {
    std::vector<int> roots;
    for (int rank : waits)
      roots.push_back(getWaited(rank));
    std::vector<Step> steps = search(roots, [](const Cause &cause) {
      return cause.kind == Cause::NeverStarted;
    });
    if (!steps.empty())
      for (int rank : waits)
        if (getWaited(rank) == steps[0].communication) {
          steps[0].reachedBy = {Cause::StartedLater, rank};
          break;
        }
    return steps;
  }

  /// findMissing found nothing, so causesOf has everything that is reachable.
  std::vector<Step> findCycle() {
    std::vector<int> reached;
    for (const auto &known : causesOf)
      reached.push_back(known.first);
    std::vector<Step> best;
    for (int root : reached) {
      std::vector<Step> steps =
          search({root}, [&](const Cause &cause) { return cause.on == root; });
      if (!steps.empty() && (best.empty() || steps.size() < best.size()))
        best = std::move(steps);
    }
    if (!best.empty())
      best[0].reachedBy = best.back().cause;
    return best;
  }

  std::string spellStep(int communication, const Cause &to,
                        const Cause &cause) const {
    const std::string &text = lists.communications[communication].text;
    std::string line =
        to.kind == Cause::Held
            ? spellRank(to.rank) + "'s queue is blocked by " + text
            : spellRank(to.rank) + " waits for " + text + " (" +
                  spellAction(lists, to.rank, walk.getPosition(to.rank)) + ")";
    line += ", which ";
    switch (cause.kind) {
    case Cause::NeverStarted:
      line += spellRank(cause.rank) + " never starts";
      return walk.hasEnded(cause.rank) ? line + ": it has ended" : line;
    case Cause::StartedLater:
      return line + spellRank(cause.rank) + " starts only after " +
             (cause.on == communication
                  ? (cause.rank == to.rank ? "this wait"
                                           : "its own wait for it")
                  : "its wait for " + lists.communications[cause.on].text);
    case Cause::Held:
      return line + spellRank(cause.rank) + " started after " +
             lists.communications[cause.on].text + " on the same queue";
    }
    return line;
  }

  const ActionLists &lists;
  const Walk &walk;
  std::vector<int> waits;
  std::map<int, std::vector<Cause>> causesOf;
};

} // namespace

std::string ppopt::schedule::proveProgress(const ActionLists &lists) {
  std::string wrong = checkIndices(lists);
  if (!wrong.empty())
    return wrong;
  wrong = checkEnds(lists);
  if (wrong.empty())
    wrong = checkOrder(lists);
  Walk walk(lists);
  std::string deadlock = Explanation(lists, walk).spell();
  if (wrong.empty() || deadlock.empty())
    return wrong + deadlock;
  return wrong + "\n" + deadlock;
}
