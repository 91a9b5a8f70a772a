//===- quiet_ranks.h - Ranks that exchange nothing ------------------------===//

#ifndef PPOPT_TEST_FUZZ_QUIET_RANKS_H
#define PPOPT_TEST_FUZZ_QUIET_RANKS_H

#include "comm/transport.h"
#include "executor/communicator.h"
#include "executor/rank.h"

#include <memory>

namespace fuzz {

/// Of a rank whose messages have always arrived, and never change memory.
class QuietTransport final : public ppopt::comm::Transport {
public:
  QuietTransport(int rank, int size);

  const char *kind() const override { return "quiet"; }
  bool test(ppopt::comm::Request &request) override;
  void throwIfFailed() override {}
  uint64_t completions() override { return ++count; }
  void awaitCompletion(uint64_t) override {}
  void cancel(ppopt::comm::Request &request) noexcept override;
  void barrier() override {}
  [[noreturn]] void abort(const std::string &reason) override;
  void reserve(int) override {}
  int maxChannel() const override { return INT32_MAX; }

private:
  ppopt::comm::Request postSend(const void *data, size_t bytes, int,
                                int) override;
  ppopt::comm::Request postReceive(void *data, size_t bytes, int, int) override;

  ppopt::comm::Activity activity;
  uint64_t count = 0;
};

/// Makes one whose operations are done at once: their starts write to their
/// memory.
std::unique_ptr<ppopt::runtime::Communicator>
makeQuietCommunicator(const ppopt::runtime::CommunicatorSettings &settings);

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_QUIET_RANKS_H
