//===- messages.h - Messages between ranks outside of steps ---------------===//
//
// What ranks exchange outside of a step: whether all could start, exports,
// checks, reports. Blocking and in order, on one channel that no action of the
// program uses.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_MESSAGES_H
#define PPOPT_RUNTIME_EXECUTOR_MESSAGES_H

#include "comm/transport.h"

#include <cstdint>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

class Messages {
public:
  Messages(comm::Transport &transport, int channel);
  /// For a job with more than one rank.
  explicit Messages(const ppopt_rank &rank);

  void send(const void *data, int64_t bytes, int peer);
  void receive(void *data, int64_t bytes, int peer);

  /// Called by all ranks. On rank 0, `all` receives `bytes` bytes from each
  /// rank, in rank order; other ranks ignore it.
  void gather(const void *mine, int64_t bytes, void *all);

  /// The same among some ranks, which all call it: on the first of them, `all`
  /// receives those of the others, in the order of `among`.
  void gather(const void *mine, int64_t bytes, void *all,
              const std::vector<int> &among);

  /// Called by all ranks, each with a text of any length. Returns all on rank
  /// 0, in rank order, and nothing on others.
  std::vector<std::string> gatherTexts(const std::string &mine);

  /// Called by all ranks. Copies rank 0's data to all ranks.
  void broadcast(void *data, int64_t bytes);
  /// The same among some ranks: the first one's data.
  void broadcast(void *data, int64_t bytes, const std::vector<int> &among);
  /// Copies rank 0's list, or text, which may have any length.
  template <typename List> void broadcastList(List &list) {
    auto count = int64_t(list.size());
    broadcast(&count, sizeof count);
    list.resize(size_t(count));
    if (count > 0)
      broadcast(list.data(), count * int64_t(sizeof(list[0])));
  }

  /// Called by all ranks. Returns the maximum of their values on all of them,
  /// after log2(ranks) rounds with one message in each direction.
  int32_t greatest(int32_t mine);

private:
  std::vector<int> everyone() const;

  comm::Transport &transport_;
  const int channel_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_EXECUTOR_MESSAGES_H
