//===- owner.h - Applies updates, and answers pulls -----------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_OWNER_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_OWNER_H

#include "asynchronous/message.h"
#include "asynchronous/order.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::asynchronous {

/// A rank as the owner of its buckets: chunks of the program's buckets, as
/// under ZeRO-1. It has their master parameters and optimizer states. Trainers
/// send it pulls and pushes, with one rank each.
///
///  - A push is applied when it has arrived, in the order of arrival, and never
///    while the bucket is being sent: so an answer contains whole updates only.
///  - What a trainer sends is done in its order. While a pull or a push waits,
///  or
///    an answer is being sent, nothing more of this trainer is received.
///  - No answer overtakes a push that waits for the same bucket.
///  - With the bound K, a pull for step t of a trainer is answered when the
///    bucket contains the updates of all steps of all trainers before step t -
///    K. Bad steps have none, and a trainer that is done has no more steps.
class Owner {
public:
  /// `bound`: K; none: nobody waits. `arrivals`: the updates that each bucket
  /// contains at the start.
  Owner(int trainers, int buckets, std::optional<int64_t> bound,
        int64_t arrivals = 0);

  /// From now on the owner applies and answers in the order of a recorded run:
  /// `orders` by round and bucket. Neither the order of arrival nor the bound
  /// decides then. Call it before the first message.
  void follow(std::vector<std::vector<BucketOrder>> orders);

  /// Trainers may send messages from now on, until they are done. Before, none
  /// has a ticket of the round.
  void beginRound();

  /// Returns whether the next message of a trainer may be received. If not, it
  /// sends none, or one that has to wait.
  bool accepts(int trainer) const {
    const Peer &peer = peers[trainer];
    return isOpen && peer.waits == Waits::Nothing && peer.sending == 0 &&
           !peer.isDone;
  }

  /// A message of a trainer has arrived: a Pull, Drop or Done, or a Push with
  /// the gradient. Asks for Apply, for Send of an Answer, and, when no trainer
  /// takes more steps in this round, for Send of Drained.
  void receive(int trainer, const Message &message, Actions &out);

  /// The parameters of an Answer to a trainer have been read: they may change.
  void sent(int trainer, int bucket, Actions &out);

  /// Returns the updates that a bucket contains: Adam's step.
  int64_t arrivals(int bucket) const { return theBuckets[bucket].arrivals; }

  /// Returns whether nothing is begun: no push or pull waits, and no answer is
  /// being sent.
  bool isIdle() const;

  template <typename V, typename T> static void visitState(V &f, T &self) {
    f(self.isOpen);
    f(self.running);
    f(self.queue);
    f(self.round);
    for (auto &bucket : self.theBuckets) {
      f(bucket.arrivals);
      f(bucket.sending);
      f(bucket.followed);
    }
    for (auto &peer : self.peers) {
      f(peer.waits);
      f(peer.isDone);
      f(peer.finished);
      f(peer.nextBucket);
      f(peer.isAnswered);
      f(peer.push);
      f(peer.sending);
    }
  }

private:
  enum class Waits : int32_t { Nothing, Pull, Push };
  /// A trainer, in this round.
  struct Peer {
    Waits waits = Waits::Nothing;
    bool isDone = false;
    int64_t finished = 0;         ///< steps, applied to all buckets or dropped
    int32_t nextBucket = 0;       ///< of the pushes of step `finished`
    std::vector<bool> isAnswered; ///< by bucket, of the pull that waits
    Message push;                 ///< that waits
    int sending = 0;              ///< answers that are not yet sent
  };
  struct Bucket {
    int64_t arrivals = 0;
    int sending = 0;     ///< likewise, of it
    size_t followed = 0; ///< entries of this round's record
  };

  /// Returns the steps of a trainer that a bucket contains, or that had none.
  int64_t finished(const Peer &peer, int bucket) const {
    return peer.finished + (bucket < peer.nextBucket);
  }
  void advance(int bucket, Actions &out);
  void advanceAll(Actions &out);
  bool applyNext(int bucket, Actions &out);
  bool answerNext(int bucket, Actions &out);
  bool pushWaits(int bucket) const;
  bool isNext(OrderEntry::Kind kind, int trainer, int bucket) const;
  void checkRecord(int bucket) const;
  void follow(int bucket);
  bool isFreshEnough(int bucket, int64_t step) const;
  void apply(int trainer, Actions &out);
  void answer(int trainer, int bucket, Actions &out);
  void endRound(Actions &out);

  const std::optional<int64_t> bound;
  bool isOpen = false;    ///< a round has begun, and is not drained
  int running;            ///< trainers that are not done
  std::vector<int> queue; ///< trainers whose push waits, in order of arrival
  std::vector<Bucket> theBuckets;
  std::vector<Peer> peers;

  bool repeats = false;                           ///< a recorded run
  std::vector<std::vector<BucketOrder>> recorded; ///< by round and bucket
  size_t round = 0;
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_OWNER_H
