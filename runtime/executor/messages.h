//===- messages.h - Messages of the runtime's own, between steps ----------===//
//
// What ranks tell each other outside of a step: whether all could start, what
// is exported, checked, reported. Blocking and in order; on one channel, which
// no action of the program uses.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_MESSAGES_H
#define PPOPT_RUNTIME_EXECUTOR_MESSAGES_H

#include "comm/transport.h"

#include <cstdint>

struct ppopt_rank;

namespace ppopt::train {

class Messages {
public:
  Messages(comm::Transport &transport, int channel);
  /// Of a rank that is not alone.
  explicit Messages(const ppopt_rank &rank);

  void send(const void *data, int64_t bytes, int peer);
  void receive(void *data, int64_t bytes, int peer);

  /// Called by all ranks: on rank 0 `all` gets `bytes` bytes of each rank, in
  /// their order; elsewhere it is not touched.
  void gather(const void *mine, int64_t bytes, void *all);

  /// Called by all ranks: what rank 0 has, all have.
  void broadcast(void *data, int64_t bytes);

  /// Called by all ranks, gives all of them the greatest of their values, after
  /// log2(ranks) rounds. A message goes each way at once.
  int32_t greatest(int32_t mine);

private:
  comm::Transport &transport_;
  const int channel_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_EXECUTOR_MESSAGES_H
