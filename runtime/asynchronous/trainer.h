//===- trainer.h - A rank that pulls, computes and pushes -----------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_TRAINER_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_TRAINER_H

#include "asynchronous/message.h"
#include "asynchronous/staleness.h"

#include <cstdint>
#include <vector>

namespace ppopt::asynchronous {

/// One rank of a trainer. In each step it pulls all buckets of its owners,
/// computes, and pushes a gradient of each, or drops them. All ranks of a
/// trainer get the same tickets in the same order, and push or drop alike.
///
/// An owner answers a pull only after it has applied the earlier pushes of the
/// rank. So when all answers are here, no push of an earlier step is left: one
/// push at most is outstanding for each bucket, and the memory of the gradients
/// is free.
class Trainer {
public:
  /// `self` is the trainer's number, and `buckets` how many each owner has, by
  /// the owner's trainer.
  Trainer(int self, std::vector<int> buckets);

  enum class Phase : int32_t {
    Between,  ///< rounds
    Asks,     ///< for a ticket, with nothing else to do
    Pulls,    ///< waits for answers
    Computes, ///< until computed()
    Serves,   ///< has no ticket in this round any more
  };

  /// Asks for the first ticket of a round.
  void beginRound(Actions &out);

  /// Returns whether rank 0 will send a message: a ticket that is asked for, or
  /// Proceed.
  bool awaitsMaster() const { return hasAsked || thePhase == Phase::Serves; }
  /// Returns whether an owner will send an answer.
  bool awaitsAnswer(int owner) const;

  /// A Ticket, Stop or Proceed has arrived.
  void receive(const Message &message, Actions &out);

  /// An Answer of an owner is in the working copy.
  void answered(int owner, const Message &message, Actions &out);

  /// The gradients of the step are ready. If they are not `good`, nothing is
  /// pushed, and the step counts as finished.
  void computed(bool good, Actions &out);

  Phase phase() const { return thePhase; }
  /// Returns the steps that this rank has finished computing in the round: the
  /// number of the step that it pulls for or computes.
  int64_t step() const { return theStep; }
  /// Returns the ticket of the step that it pulls for or computes.
  int64_t ticket() const { return theTicket; }
  /// Of the last pull: by owner, then by bucket.
  const std::vector<int64_t> &versions() const { return theVersions; }
  const Staleness &staleness() const { return theStaleness; }
  double heldSeconds() const { return theHeldSeconds; }

  template <typename V, typename T> static void visitState(V &f, T &self) {
    f(self.thePhase);
    f(self.theStep);
    f(self.theTicket);
    f(self.hasAsked);
    f(self.prefetched);
    f(self.prefetchedTicket);
    f(self.missing);
    f(self.isAnswered);
  }

private:
  enum class Prefetched : int32_t { Nothing, Ticket, Stop };
  void ask(Actions &out);
  void goOn(Actions &out);
  void begin(Actions &out);
  void finish(Actions &out);
  void toAllOwners(const Message &message, Actions &out);
  template <typename Send> void forEachOwner(const Send &send);

  const int self;
  const std::vector<int> buckets;
  std::vector<int> firstBucket; ///< by owner: its first entry in isAnswered

  Phase thePhase = Phase::Between;
  int64_t theStep = 0;
  int64_t theTicket = 0;
  bool hasAsked = false; ///< for a ticket that is not here
  Prefetched prefetched = Prefetched::Nothing;
  int64_t prefetchedTicket = 0;
  int missing = 0;              ///< answers
  std::vector<bool> isAnswered; ///< in this step

  // For the log only.
  std::vector<int64_t> theVersions;
  Staleness theStaleness;
  double theHeldSeconds = 0;
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_TRAINER_H
