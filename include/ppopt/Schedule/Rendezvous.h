//===- Rendezvous.h - Can a set of action lists deadlock? -----------------===//
//
// Every rank executes a list of actions. A start never blocks; a wait blocks
// until its communication is complete. A communication is complete when all its
// participants have started it and, on each of them, everything started before
// it on the same queue is complete: a queue is blocked until both (all) ends
// have reached the communication (rendezvous).
//
// No action of a rank disables an action of another one. So one run that goes
// as far as it can decides for all orders; the test checks this against all
// interleavings.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SCHEDULE_RENDEZVOUS_H
#define PPOPT_SCHEDULE_RENDEZVOUS_H

#include <string>
#include <vector>

namespace ppopt::schedule {

struct Communication {
  std::vector<int> ranks; ///< participants: two for a transfer
  /// An ordered queue at each participant. The two ends of a transfer belong to
  /// one queue (one per ordered pair of ranks), those of a collective to one
  /// per group; the target may map several to one real queue.
  int queue = 0;
  std::string text; ///< for messages: "h of microbatch 3, place 0 to 1"
};

struct RankAction {
  enum Kind { Run, Start, Wait } kind = Run;
  int communication = -1; ///< index, of a start or a wait
  std::string text;       ///< for messages: "forward of stage 1, microbatch 3"
  double time = 0;        ///< that a run takes, in any unit
};

struct ActionLists {
  std::vector<Communication> communications;
  std::vector<std::vector<RankAction>> ranks;
};

/// Checks that every participant starts and waits for each of its
/// communications once, the start first; that the ends of a queue agree on its
/// order; and that no rank waits forever. Returns an empty string, or the
/// errors: one line for a missing end or a queue whose ends differ. If some
/// rank waits forever, "deadlock:" follows with a line for each action of the
/// shortest cycle, or of the shortest path to a missing end ("  rank 0 waits
/// for h of microbatch 3 (action 7, after ...), which rank 1 starts only after
/// its wait for ..."). Actions are counted from 0.
std::string proveProgress(const ActionLists &lists);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_RENDEZVOUS_H
