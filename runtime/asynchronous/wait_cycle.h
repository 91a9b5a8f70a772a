//===- wait_cycle.h - Entries of a record that wait for each other --------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_WAIT_CYCLE_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_WAIT_CYCLE_H

#include "asynchronous/replay_log.h"

#include <vector>

namespace ppopt::asynchronous {

/// An entry of a round.
struct EntryAt {
  int rank = 0, bucket = 0; ///< of the owner
  const OrderEntry *entry = nullptr;
};

/// What an owner does with a bucket waits for what it did with the bucket
/// before, and
///  - an update: for the step of the member that the owner serves, or for the
///    update of the bucket before by the same step;
///  - an answer: for the update of the owner's last bucket by the step before
///    or, if that was bad, for the step itself.
/// A member's step waits for all answers to its pulls; that members may wait
/// for each other too is not considered. Returns entries that wait for each
/// other in a circle, each for the next one; of several of one bucket that
/// follow one another the first and the last. Empty: a run can follow all
/// orders of the round. Each owner must have answered each step once and
/// applied each good one once, in order.
std::vector<EntryAt> findWaitCycle(const Shape &shape,
                                   const RecordedRound &round);

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_WAIT_CYCLE_H
