//===- Queues.h - Queues of communications at their heads -----------------===//

#ifndef PPOPT_LIB_SCHEDULE_QUEUES_H
#define PPOPT_LIB_SCHEDULE_QUEUES_H

#include "ppopt/Schedule/Rendezvous.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace ppopt::schedule {

/// Communications that have started and are not complete, on every queue of
/// every rank. A communication completes when it is at the head of its queue on
/// all its ranks; then the next ones move up.
class Queues {
public:
  explicit Queues(const std::vector<Communication> &communications)
      : communications(communications), atHead(communications.size()) {}

  /// Appends the communications that this start completes to `finished`, in
  /// order. A second start of the same end changes nothing.
  void start(int rank, int communication, std::vector<int> &finished) {
    if (!started.insert({rank, communication}).second)
      return;
    Sequence &sequence = sequences[{rank, communications[communication].queue}];
    sequence.ends.push_back(communication);
    if (sequence.head + 1 == sequence.ends.size())
      reachHead(communication, finished);
  }

  bool isStarted(int rank, int communication) const {
    return started.count({rank, communication});
  }

  bool isComplete(int communication) const {
    return atHead[communication] == communications[communication].ranks.size();
  }

  /// Returns the oldest incomplete one on the queue of a rank; -1 if there is
  /// none.
  int getHead(int rank, int queue) const {
    auto it = sequences.find({rank, queue});
    if (it == sequences.end() || it->second.isEmpty())
      return -1;
    return it->second.ends[it->second.head];
  }

  /// Returns the first rank with a queue that is not empty, and its head; -1s
  /// if none.
  std::pair<int, int> getFirstHead() const {
    for (const auto &[key, sequence] : sequences)
      if (!sequence.isEmpty())
        return {key.first, sequence.ends[sequence.head]};
    return {-1, -1};
  }

private:
  struct Sequence {
    std::vector<int> ends;
    size_t head = 0;
    bool isEmpty() const { return head == ends.size(); }
  };

  void reachHead(int communication, std::vector<int> &finished) {
    std::vector<int> arrived = {communication};
    while (!arrived.empty()) {
      int next = arrived.back();
      arrived.pop_back();
      ++atHead[next];
      if (!isComplete(next))
        continue;
      finished.push_back(next);
      for (int rank : communications[next].ranks) {
        Sequence &sequence = sequences[{rank, communications[next].queue}];
        if (++sequence.head < sequence.ends.size())
          arrived.push_back(sequence.ends[sequence.head]);
      }
    }
  }

  const std::vector<Communication> &communications;
  std::vector<size_t> atHead; ///< on how many ranks each has been
  std::map<std::pair<int, int>, Sequence> sequences; ///< by rank and queue
  std::set<std::pair<int, int>> started;             ///< rank, communication
};

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_QUEUES_H
