//===- rendezvous_interleavings.h - Every order of events -----------------===//
//
// The definition in Rendezvous.h, tried in every order: a state is what each
// rank has reached and which communications are complete; a step is one action
// of one rank or the completion of one communication. Shares nothing with
// proveProgress.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_SCHEDULE_RENDEZVOUS_INTERLEAVINGS_H
#define PPOPT_TEST_SCHEDULE_RENDEZVOUS_INTERLEAVINGS_H

#include "ppopt/Schedule/Rendezvous.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

namespace ppopt::schedule::test {

struct Outcomes {
  size_t states = 0;
  bool someEnd = false;      ///< an order in which all ranks end
  bool someStuck = false;    ///< an order after which a rank waits for ever
  bool isWholeSpace = false; ///< else there are more states than allowed
};

class Interleavings {
public:
  explicit Interleavings(const ActionLists &lists) : lists(lists) {
    needs.resize(lists.communications.size());
    for (size_t i = 0; i < needs.size(); ++i)
      for (int rank : lists.communications[i].ranks)
        needs[i].push_back(getNeed(rank, static_cast<int>(i)));
  }

  Outcomes explore(size_t limit) {
    // Program counters, then a flag for each communication.
    State first(getRanks() + lists.communications.size(), 0);
    std::unordered_set<State> seen = {first};
    std::vector<State> open = {first};
    Outcomes outcomes;
    while (!open.empty() && seen.size() <= limit) {
      State state = std::move(open.back());
      open.pop_back();
      bool isStuck = true;
      auto visit = [&](size_t changed) {
        isStuck = false;
        State after = state;
        ++after[changed];
        if (seen.insert(after).second)
          open.push_back(std::move(after));
      };
      for (int rank = 0; rank < getRanks(); ++rank)
        if (canAct(state, rank))
          visit(rank);
      for (size_t i = 0; i < lists.communications.size(); ++i)
        if (canComplete(state, static_cast<int>(i)))
          visit(getRanks() + i);
      if (isStuck)
        (hasEnded(state) ? outcomes.someEnd : outcomes.someStuck) = true;
    }
    outcomes.states = seen.size();
    outcomes.isWholeSpace = open.empty();
    return outcomes;
  }

private:
  using State = std::string;

  int getRanks() const { return static_cast<int>(lists.ranks.size()); }

  size_t getPosition(const State &state, int rank) const {
    return static_cast<unsigned char>(state[rank]);
  }
  bool isComplete(const State &state, int communication) const {
    return state[getRanks() + communication];
  }

  bool hasEnded(const State &state) const {
    for (int rank = 0; rank < getRanks(); ++rank)
      if (getPosition(state, rank) < lists.ranks[rank].size())
        return false;
    return true;
  }

  bool canAct(const State &state, int rank) const {
    size_t position = getPosition(state, rank);
    if (position == lists.ranks[rank].size())
      return false;
    const RankAction &action = lists.ranks[rank][position];
    return action.kind != RankAction::Wait ||
           isComplete(state, action.communication);
  }

  bool canComplete(const State &state, int communication) const {
    if (isComplete(state, communication))
      return false;
    for (const Need &need : needs[communication]) {
      if (getPosition(state, need.rank) <= need.startedAt)
        return false;
      for (int earlier : need.earlier)
        if (!isComplete(state, earlier))
          return false;
    }
    return true;
  }

  /// What an end asks for before its communication completes.
  struct Need {
    int rank;
    size_t startedAt;         ///< the length of the list if it never is
    std::vector<int> earlier; ///< started before it on the same queue
  };

  Need getNeed(int rank, int communication) const {
    const std::vector<RankAction> &actions = lists.ranks[rank];
    Need need = {rank, actions.size(), {}};
    for (size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind != RankAction::Start)
        continue;
      int other = actions[i].communication;
      if (other == communication) {
        need.startedAt = i;
        break;
      }
      if (lists.communications[other].queue ==
          lists.communications[communication].queue)
        need.earlier.push_back(other);
    }
    return need;
  }

  const ActionLists &lists;
  std::vector<std::vector<Need>> needs; ///< of each end of a communication
};

} // namespace ppopt::schedule::test

#endif // PPOPT_TEST_SCHEDULE_RENDEZVOUS_INTERLEAVINGS_H
