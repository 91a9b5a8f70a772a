//===- trace_check.h - Whether a recorded run kept the protocol -----------===//
//
// What --record wrote has all that the protocol's properties speak of. Uses
// nothing of the state machines but the reader of the file.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_TRACE_CHECK_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_TRACE_CHECK_H

#include "asynchronous/replay_log.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::asynchronous {

/// Why no run of the protocol can have had a recorded order.
struct TraceProblem {
  int64_t line = 0; ///< of the file
  std::string text; ///< one sentence
};

struct TraceFacts {
  /// 20 at most; none: all properties hold.
  std::vector<TraceProblem> problems;
  int64_t rounds = 0, tickets = 0, badTickets = 0;
  int64_t pulls = 0, updates = 0; ///< of buckets
  /// A pull for step t that lacks the update of a trainer's step u is t - u
  /// steps stale. Of all pulls and trainers; 0 if none lacks an earlier step.
  int64_t mostStaleness = 0;
  /// Pulls whose parameters were compared with those of the version.
  int64_t comparedDigests = 0;
};

/// Checks that
///  - each ticket is taken by one trainer, in order, by all of its ranks alike,
///    and each rank's steps count from 0 in each round;
///  - each owner has answered each step's pull once and, unless the step was
///    bad, applied its update once after that: step by step, and nothing else;
///  - a pull for step t contains the updates of all steps before t - K;
///  - a trainer has pulled the version that the owner sent and, where digests
///    are known, its bits: not those of two versions;
///  - in each round the orders of all buckets can be followed together: no
///    entry waits for itself (wait_cycle.h).
TraceFacts checkTrace(const ReplayLog &log);

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_TRACE_CHECK_H
