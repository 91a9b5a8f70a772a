//===- wait_cycle.cpp - Entries of a record that wait for each other ------===//

#include "asynchronous/wait_cycle.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ppopt::asynchronous {

namespace {

using Node = size_t;

/// Nodes are the steps of all ranks, and then the entries of all buckets.
class WaitGraph {
public:
  WaitGraph(const Shape &shape, const RecordedRound &round)
      : shape(shape), round(round) {
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      firstStep.push_back(nodes);
      nodes += stepsOf(shape.trainerOf(rank)).size();
    }
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      firstOfRank.push_back(buckets.size());
      for (int bucket = 0; bucket < shape.buckets[rank]; ++bucket)
        add(rank, bucket);
    }
  }

  /// Returns the nodes of a circle, each of which waits for the next one.
  std::vector<Node> findCycle() const {
    enum : char { New, Open, Done };
    std::vector<char> state(nodes, New);
    struct Visit {
      Node node;
      size_t next; ///< of what it waits for
    };
    std::vector<Visit> path;
    for (Node start = 0; start < nodes; ++start) {
      if (state[start] != New)
        continue;
      path.push_back({start, 0});
      state[start] = Open;
      while (!path.empty()) {
        Visit &visit = path.back();
        if (visit.next == waits(visit.node)) {
          state[visit.node] = Done;
          path.pop_back();
          continue;
        }
        Node awaited = awaitedBy(visit.node, visit.next++);
        if (awaited == none || state[awaited] == Done)
          continue;
        if (state[awaited] == Open) {
          auto begin =
              std::find_if(path.begin(), path.end(), [&](const Visit &each) {
                return each.node == awaited;
              });
          std::vector<Node> cycle;
          for (; begin != path.end(); ++begin)
            cycle.push_back(begin->node);
          return cycle;
        }
        state[awaited] = Open;
        path.push_back({awaited, 0});
      }
    }
    return {};
  }

  bool isEntry(Node node) const {
    return !buckets.empty() && node >= buckets.front().first;
  }
  EntryAt entryAt(Node node) const {
    const Bucket &at = bucketOf(node);
    return {at.rank, at.bucket,
            &round.orders[at.rank][at.bucket][node - at.first]};
  }
  /// Returns whether both are entries of one bucket.
  bool isOneBucket(Node a, Node b) const {
    return isEntry(a) && isEntry(b) && &bucketOf(a) == &bucketOf(b);
  }

private:
  static constexpr Node none = ~Node(0);

  struct Bucket {
    int rank, bucket;
    Node first; ///< of its entries
    /// By trainer and step; none: there is no such entry.
    std::vector<std::vector<Node>> applied, answered;
  };

  const std::vector<StepRecord> &stepsOf(int trainer) const {
    return round.steps[shape.rankOf(trainer, 0)];
  }
  const BucketOrder &orderOf(const Bucket &at) const {
    return round.orders[at.rank][at.bucket];
  }

  void add(int rank, int bucket) {
    Bucket at{rank, bucket, nodes, {}, {}};
    for (int trainer = 0; trainer < shape.trainers; ++trainer) {
      at.applied.emplace_back(stepsOf(trainer).size(), none);
      at.answered.emplace_back(stepsOf(trainer).size(), none);
    }
    for (const OrderEntry &entry : orderOf(at)) {
      bool isUpdate = entry.kind == OrderEntry::Kind::Applied;
      (isUpdate ? at.applied : at.answered)[entry.trainer][entry.step] =
          nodes++;
    }
    buckets.push_back(std::move(at));
  }

  const Bucket &bucketOf(Node entry) const {
    return *std::prev(std::upper_bound(
        buckets.begin(), buckets.end(), entry,
        [](Node node, const Bucket &at) { return node < at.first; }));
  }

  /// Returns an upper bound on what a node waits for.
  size_t waits(Node node) const { return isEntry(node) ? 2 : buckets.size(); }

  /// Returns the node that is number `number` of these, or none.
  Node awaitedBy(Node node, size_t number) const {
    if (!isEntry(node)) {
      // Ranks without steps come before the one whose step it is.
      auto next = std::upper_bound(firstStep.begin(), firstStep.end(), node);
      int rank = int(next - firstStep.begin()) - 1;
      const Bucket &pulled = buckets[number];
      if (shape.memberOf(pulled.rank) != shape.memberOf(rank))
        return none; // another member pulls it
      return pulled.answered[shape.trainerOf(rank)][node - firstStep[rank]];
    }
    const Bucket &at = bucketOf(node);
    if (number == 0)
      return node == at.first ? none : node - 1;
    const OrderEntry &entry = orderOf(at)[node - at.first];
    Node step =
        firstStep[shape.rankOf(entry.trainer, shape.memberOf(at.rank))] +
        entry.step;
    const Bucket *owned = &buckets[firstOfRank[at.rank]];
    if (entry.kind == OrderEntry::Kind::Applied)
      return at.bucket == 0
                 ? step
                 : owned[at.bucket - 1].applied[entry.trainer][entry.step];
    if (entry.step == 0)
      return none;
    const Bucket &last = owned[shape.buckets[at.rank] - 1];
    Node update = last.applied[entry.trainer][entry.step - 1];
    return update == none ? step - 1 : update;
  }

  const Shape &shape;
  const RecordedRound &round;
  Node nodes = 0;
  std::vector<Node> firstStep;     ///< by rank
  std::vector<size_t> firstOfRank; ///< by rank: of its buckets
  std::vector<Bucket> buckets;     ///< of all ranks, with ascending nodes
};

} // namespace

std::vector<EntryAt> findWaitCycle(const Shape &shape,
                                   const RecordedRound &round) {
  WaitGraph graph(shape, round);
  std::vector<Node> cycle = graph.findCycle();
  std::vector<EntryAt> entries;
  for (size_t i = 0; i < cycle.size(); ++i) {
    Node before = cycle[(i + cycle.size() - 1) % cycle.size()];
    Node after = cycle[(i + 1) % cycle.size()];
    bool isWithin = graph.isOneBucket(before, cycle[i]) &&
                    graph.isOneBucket(cycle[i], after);
    if (graph.isEntry(cycle[i]) && !isWithin)
      entries.push_back(graph.entryAt(cycle[i]));
  }
  return entries;
}

} // namespace ppopt::asynchronous
