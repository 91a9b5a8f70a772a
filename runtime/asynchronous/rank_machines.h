//===- rank_machines.h - The protocol of one rank -------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_RANK_MACHINES_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_RANK_MACHINES_H

#include "asynchronous/agreement.h"
#include "asynchronous/message.h"
#include "asynchronous/owner.h"
#include "asynchronous/replay_log.h"
#include "asynchronous/shape.h"
#include "asynchronous/tickets.h"
#include "asynchronous/trainer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::asynchronous {

/// All state machines of one rank: a trainer, an owner and, on rank 0, the
/// ticket master and the agreement. What they tell each other on one rank needs
/// no message. docs/asynchronous.md shows the loop that drives them.
///
/// Each event returns the actions to do, in their order, before the next event.
/// The list is valid until then. Throws std::logic_error if the protocol is
/// broken.
class RankMachines {
public:
  /// The run begins with ticket `first`, a multiple of the trainers, and each
  /// bucket contains `arrivals` updates.
  RankMachines(const Shape &shape, int rank, int64_t first = 0,
               int64_t arrivals = 0);

  /// From now on the rank does what a recorded run did, in the same order. Its
  /// shape, first ticket and arrivals are those of the record. Call it before
  /// the first round.
  void follow(const ReplayLog &log);

  /// The rank is ready for a round: at the start, or after what it did for an
  /// agreement. The round ends before ticket `end`, on all ranks the same.
  const Actions &beginRound(int64_t end);

  /// Returns whether the next message of a peer may be received now. If so, its
  /// receive can be posted: there will be one. If not, there is none, or it
  /// waits. After an agreement this is false for all.
  bool accepts(Link link, int peer) const;

  /// A message, with its data, has arrived.
  const Actions &receive(Link link, int peer, const Message &message);

  /// The data of an Answer to a peer have left: the bucket may change.
  const Actions &sent(int peer, const Message &answer);

  /// The gradients of the step are computed. If they are not `good`, they are
  /// dropped.
  const Actions &computed(bool good);

  /// Stops the run at the next global batch that all ranks can still agree on.
  /// Rank 0 learns of it with this rank's next message.
  void signal(int32_t number) { theSignal = number; }

  /// On rank 0: returns the number of the first ticket that nobody has.
  int64_t handedOut() const { return master->handedOut(); }

  const Trainer &trainer() const { return theTrainer; }
  const Owner &owner() const { return theOwner; }

  template <typename V, typename T> static void visitState(V &f, T &self) {
    if (self.master) {
      TicketMaster::visitState(f, *self.master);
      Agreement::visitState(f, *self.agreement);
    }
    Trainer::visitState(f, self.theTrainer);
    Owner::visitState(f, self.theOwner);
    f(self.own);
    f(self.theSignal);
  }

private:
  /// Does what concerns this rank alone, and returns the rest.
  const Actions &route();
  void routeSend(const Action &action);
  void toMaster(int rank, const Message &message);
  void toRanks(int trainer, const Message &message);
  void toSelf(const Message &fromMaster);
  void drainOwn();

  const Shape shape;
  const int rank, self, member;       ///< self: the trainer
  std::optional<TicketMaster> master; ///< on rank 0
  std::optional<Agreement> agreement; ///< likewise
  Trainer theTrainer;
  Owner theOwner;
  std::vector<Message> own; ///< to this owner, not yet accepted
  int32_t theSignal = 0;

  Actions asked; ///< by the machines, in order
  Actions out;   ///< of these, what the driver does
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_RANK_MACHINES_H
