//===- StartOrder.h - One order of communications on all ranks ------------===//
//
// A rank whose communications share one blocking queue (a GPU's stream) must
// start them in an order that all ranks share: else one rank's queue can be
// blocked by what another rank's queue has later, and both wait forever.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SCHEDULE_STARTORDER_H
#define PPOPT_SCHEDULE_STARTORDER_H

#include "ppopt/Schedule/Rendezvous.h"

namespace ppopt::schedule {

/// Returns the communications in the order in which they complete if runs take
/// their times and communications none. Runs that are directly followed by
/// communications of their rank alone are not interrupted.
///
/// If each rank starts its communications in this order, each no earlier than
/// in its list and no later than that requires, then every start still comes
/// before its wait, and no rank waits forever though all of its communications
/// are in one queue. Proof: take the first communication of the order that does
/// not complete. All that its ranks have before it in their queues complete,
/// and so does each that a rank waits for before it starts this one, which was
/// complete before it in the simulation.
///
/// The lists must pass proveProgress; otherwise some communications are
/// missing.
std::vector<int> findCompletionOrder(const ActionLists &lists);

/// The actions of a rank with starts moved towards the end of the list.
struct MovedStart {
  size_t start; ///< the index of the start
  size_t after; ///< the index of the action that it now follows
};

/// Returns the starts of a rank that must move so that they are in `order`, in
/// that order. Those that move after the same action follow it in the order
/// in which they are returned. `isFixed` says which starts can't move: they are
/// parts of the run before them.
std::vector<MovedStart> findMovedStarts(const std::vector<RankAction> &actions,
                                        const std::vector<int> &order,
                                        const std::vector<bool> &isFixed);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_STARTORDER_H
