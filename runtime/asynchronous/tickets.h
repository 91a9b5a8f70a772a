//===- tickets.h - Hands out the parts of global batches ------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_TICKETS_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_TICKETS_H

#include "asynchronous/message.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::asynchronous {

/// Belongs to rank 0. Ticket k is part k mod n of global batch k / n, for n
/// trainers. A trainer gets the next ticket when each of its ranks has asked
/// for it. A round is the tickets up to a multiple of n; after these, those who
/// ask get Stop. No ticket of a round is handed out before all ranks of all
/// trainers have asked, so a rank asks when it is done with what the last
/// agreement was for.
class TicketMaster {
public:
  /// `members`: ranks of each trainer. `first`: the first ticket, a multiple of
  /// `trainers`.
  TicketMaster(int trainers, int members, int64_t first);

  /// From now on each trainer gets the tickets that it had in a recorded run,
  /// whose rounds must be the same and end before ticket `end`. stop() takes
  /// effect at the end of a round only: what owners did for later tickets may
  /// come first in their records.
  void follow(std::vector<std::vector<int64_t>> tickets, int64_t end);

  /// Begins a round of the tickets before `end`, a multiple of n. Call it when
  /// the last round is over, or at the start. Ranks may have asked before.
  void beginRound(int64_t end, Actions &out);

  /// A rank of a trainer asks for the next ticket. Appends messages whose
  /// `peer` is the trainer: each of its ranks gets them.
  void request(int trainer, Actions &out);

  /// Ends the round, or the one that is yet to begin, at the next multiple of n
  /// that is not yet exceeded.
  void stop();

  /// Returns the number of tickets that somebody has, or had.
  int64_t handedOut() const { return next; }
  /// Returns where the round ends.
  int64_t roundEnd() const { return end; }

  template <typename V, typename T> static void visitState(V &f, T &self) {
    f(self.next);
    f(self.end);
    f(self.stopped);
    f(self.begun);
    f(self.stopping);
    f(self.asked);
    f(self.followed);
  }

private:
  int trainers() const { return static_cast<int>(asked.size()); }
  bool isReplay() const { return !recorded.empty(); }
  bool isOpen() const { return stopped < trainers(); }
  void beginIfAllAsked(Actions &out);
  void answer(int trainer, Actions &out);
  std::optional<int64_t> take(int trainer);

  const int members;
  int64_t next; ///< in a recorded run: the number of all handed out
  int64_t end;
  int stopped;            ///< trainers that got Stop in this round
  bool begun = false;     ///< tickets of this round are handed out
  bool stopping = false;  ///< the run ends with this round
  std::vector<int> asked; ///< by trainer: ranks since its last answer

  // Of a recorded run.
  std::vector<std::vector<int64_t>> recorded; ///< tickets by trainer
  std::vector<size_t> followed;               ///< by trainer: of these
  int64_t recordEnd = 0;
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_TICKETS_H
