//===- agreement.h - When all ranks have ended a round --------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_AGREEMENT_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_AGREEMENT_H

#include "asynchronous/message.h"

#include <cstdint>
#include <vector>

namespace ppopt::asynchronous {

/// Belongs to rank 0. A rank reports when it has applied, as an owner, all
/// updates of a round. When all have, nothing is in flight, and all proceed: to
/// an evaluation, a checkpoint, the next round, or the end.
class Agreement {
public:
  explicit Agreement(int ranks) : isDrained(ranks, true) {}

  /// Ranks report from now on.
  void beginRound();

  /// Returns whether a rank may still report in this round.
  bool awaits(int rank) const { return !isDrained[rank]; }

  /// A rank has asked for a ticket or reported, and has received `signal` (0:
  /// none): the run stops at this agreement. The first signal counts.
  void note(int32_t signal) {
    if (theSignal == 0)
      theSignal = signal;
  }

  /// A rank has reported. After the last one, appends Proceed, for all ranks
  /// (its `peer` means nothing); `tickets` is where the round ended.
  void drained(int rank, int64_t tickets, Actions &out);

  template <typename V, typename T> static void visitState(V &f, T &self) {
    f(self.isDrained);
    f(self.theSignal);
  }

private:
  std::vector<bool> isDrained; ///< by rank; all: no round is open
  int32_t theSignal = 0;
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_AGREEMENT_H
