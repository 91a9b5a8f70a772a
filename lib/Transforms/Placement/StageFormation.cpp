//===- StageFormation.cpp - The fewest stages that leave no cycle ---------===//
//
// Stages in topological order are a sequence of groups. A stage may hold all
// nodes of its group whose predecessors are in it or in earlier stages, and
// holding more never hurts later stages. So a sequence of groups determines the
// stages. The search finds the shortest sequence that holds all nodes, by A*
// over the sets of nodes that are done. Two rules keep it small:
//
//   - a group whose remaining nodes are all ready now is taken now (a solution
//     that takes it in more or later stages is no shorter);
//   - the remaining nodes need at least as many stages as they have groups, and
//     as their longest chain of changing groups.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Placement/StageFormation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>

using namespace mlir::pp;

namespace {

using NodeSet = std::vector<bool>;

/// The nodes that are done after some stages, and the state before.
struct State {
  NodeSet done;
  int numStages = 0;
  int lastGroup = -1;
  const State *previous = nullptr;
};

class Search {
public:
  explicit Search(const GroupedGraph &graph);
  Stages run(size_t maxStates);

private:
  /// Returns the nodes that a stage of `group` holds after `done`.
  std::vector<int> collect(const NodeSet &done, int group) const;
  bool isRemainder(const NodeSet &done, int group, size_t collected) const;
  int lowerBound(const NodeSet &done) const;
  const State *extend(const State *from, int group,
                      const std::vector<int> &nodes);
  const State *finishGroups(const State *from);
  const State *finishGreedily(const State *from);
  bool isDone(const State *state) const {
    return std::all_of(state->done.begin(), state->done.end(),
                       [](bool done) { return done; });
  }
  Stages build(const State *last) const;

  const GroupedGraph &graph;
  int numGroups = 0;
  std::vector<std::vector<int>> predecessors;
  std::vector<std::vector<int>> members; ///< the nodes of each group, in order
  /// For each node, the number of groups on the longest chain that starts at
  /// it, counted at each change.
  std::vector<int> height;
  std::vector<std::unique_ptr<State>> states;
};

Search::Search(const GroupedGraph &graph) : graph(graph) {
  size_t count = graph.groupOf.size();
  predecessors.resize(count);
  height.assign(count, 1);
  for (int group : graph.groupOf)
    numGroups = std::max(numGroups, group + 1);
  members.resize(numGroups);
  for (size_t node = 0; node < count; ++node)
    members[graph.groupOf[node]].push_back(node);
  for (auto [from, to] : graph.edges)
    predecessors[to].push_back(from);
  for (size_t node = count; node-- > 0;)
    for (int from : predecessors[node])
      height[from] =
          std::max(height[from],
                   height[node] + (graph.groupOf[from] != graph.groupOf[node]));
}

std::vector<int> Search::collect(const NodeSet &done, int group) const {
  std::vector<int> nodes;
  NodeSet reached = done;
  for (int node : members[group]) {
    if (done[node] ||
        !std::all_of(predecessors[node].begin(), predecessors[node].end(),
                     [&](int from) { return reached[from]; }))
      continue;
    reached[node] = true;
    nodes.push_back(node);
  }
  return nodes;
}

/// Returns whether `collected` nodes are all that remain of the group.
bool Search::isRemainder(const NodeSet &done, int group,
                         size_t collected) const {
  size_t remaining = std::count_if(members[group].begin(), members[group].end(),
                                   [&](int node) { return !done[node]; });
  return collected == remaining;
}

int Search::lowerBound(const NodeSet &done) const {
  int groups = 0, chain = 0;
  for (const std::vector<int> &nodes : members) {
    bool remains = false;
    for (int node : nodes)
      if (!done[node]) {
        remains = true;
        chain = std::max(chain, height[node]);
      }
    groups += remains;
  }
  return std::max(groups, chain);
}

const State *Search::extend(const State *from, int group,
                            const std::vector<int> &nodes) {
  auto state = std::make_unique<State>(*from);
  for (int node : nodes)
    state->done[node] = true;
  ++state->numStages;
  state->lastGroup = group;
  state->previous = from;
  states.push_back(std::move(state));
  return states.back().get();
}

/// Takes, as long as there is one, the first group that can be finished.
const State *Search::finishGroups(const State *from) {
  bool found = true;
  while (found) {
    found = false;
    for (int group = 0; group < numGroups && !found; ++group) {
      std::vector<int> nodes = collect(from->done, group);
      if (nodes.empty() || !isRemainder(from->done, group, nodes.size()))
        continue;
      from = extend(from, group, nodes);
      found = true;
    }
  }
  return from;
}

/// Always takes the group with the smallest resulting bound; among several, the
/// one that finishes most nodes.
const State *Search::finishGreedily(const State *from) {
  while (!isDone(from)) {
    int best = -1, bestBound = 0;
    std::vector<int> bestNodes;
    for (int group = 0; group < numGroups; ++group) {
      std::vector<int> nodes = collect(from->done, group);
      if (nodes.empty())
        continue;
      NodeSet after = from->done;
      for (int node : nodes)
        after[node] = true;
      int bound = lowerBound(after);
      if (best < 0 || bound < bestBound ||
          (bound == bestBound && nodes.size() > bestNodes.size())) {
        best = group;
        bestBound = bound;
        bestNodes = std::move(nodes);
      }
    }
    from = finishGroups(extend(from, best, bestNodes));
  }
  return from;
}

Stages Search::build(const State *last) const {
  std::vector<const State *> path;
  for (; last->previous; last = last->previous)
    path.push_back(last);
  std::reverse(path.begin(), path.end());
  Stages stages;
  stages.stageOf.assign(graph.groupOf.size(), 0);
  for (const State *state : path) {
    for (size_t node = 0; node < state->done.size(); ++node)
      if (state->done[node] && !state->previous->done[node])
        stages.stageOf[node] = stages.groupOf.size();
    stages.groupOf.push_back(state->lastGroup);
  }
  return stages;
}

Stages Search::run(size_t maxStates) {
  auto initial = std::make_unique<State>();
  initial->done.assign(graph.groupOf.size(), false);
  states.push_back(std::move(initial));
  const State *first = finishGroups(states.back().get());

  // The smallest bound first, then the most stages, then the oldest.
  struct Entry {
    int bound, numStages;
    size_t age;
    const State *state;
  };
  auto isWorse = [](const Entry &a, const Entry &b) {
    return std::make_tuple(a.bound, -a.numStages, a.age) >
           std::make_tuple(b.bound, -b.numStages, b.age);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(isWorse)> open(
      isWorse);
  std::map<NodeSet, int> fewest;
  size_t age = 0;
  auto push = [&](const State *state) {
    auto [known, isNew] = fewest.try_emplace(state->done, state->numStages);
    if (!isNew && known->second <= state->numStages)
      return;
    known->second = state->numStages;
    open.push({state->numStages + lowerBound(state->done), state->numStages,
               age++, state});
  };
  push(first);
  while (!open.empty()) {
    const State *state = open.top().state;
    open.pop();
    if (isDone(state))
      return build(state);
    if (states.size() > maxStates) {
      Stages stages = build(finishGreedily(state));
      stages.isFewest = false;
      return stages;
    }
    for (int group = 0; group < numGroups; ++group) {
      std::vector<int> nodes = collect(state->done, group);
      if (!nodes.empty())
        push(finishGroups(extend(state, group, nodes)));
    }
  }
  return build(first);
}

} // namespace

Stages mlir::pp::formStages(const GroupedGraph &graph, size_t maxStates) {
  return Search(graph).run(maxStates);
}
