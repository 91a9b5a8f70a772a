//===- message.h - Messages and actions of asynchronous training ----------===//
//
// The state machines of this folder (docs/asynchronous.md) have no I/O, threads
// or clocks. Whoever drives them tells them what has happened (a message
// arrived, the gradient is computed), and does the actions that they ask for,
// in their order.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_MESSAGE_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_MESSAGE_H

#include <cstdint>
#include <type_traits>
#include <vector>

namespace ppopt::asynchronous {

/// What ranks send each other, as it lies in memory: all ranks of a job run one
/// executable. The data of an Answer (parameters) and of a Push (a gradient)
/// follow as a second message on the same channel; its bytes are those of the
/// bucket. A driver may add data of one size to each Request and Drained.
struct Message {
  enum class Kind : int32_t {
    // A rank to rank 0.
    Request, ///< it is ready for the next ticket of its trainer
    Drained, ///< as an owner, it has applied all updates of the round
    // Rank 0 to a rank.
    Ticket,  ///< the trainer computes part `ticket` mod n of a global batch
    Stop,    ///< no more tickets in this round
    Proceed, ///< the round is over everywhere
    // A trainer to an owner.
    Pull, ///< of all buckets of the owner, for step `step`
    Push, ///< the gradient of a bucket
    Drop, ///< step `step` has no gradient
    Done, ///< the trainer has taken `step` steps, and takes no more this round
    // An owner to a trainer.
    Answer, ///< the parameters of a bucket
  };

  Kind kind = Kind::Request;
  int32_t bucket = 0; ///< of an Answer or a Push: an index of the owner's
  int32_t signal = 0; ///< of a Request, Drained, Proceed: stops the run; or 0
  /// Of an Answer: by how many steps the parameters are behind the trainer that
  /// is furthest behind; 0 if no trainer is behind the one that pulls.
  int32_t staleness = 0;
  int64_t step = 0;   ///< of the trainer in this round, from 0
  int64_t ticket = 0; ///< Stop, Proceed: the number of all until then
  /// Of an Answer: the updates that the bucket contains. Of an action Apply:
  /// the same, with this one.
  int64_t version = 0;
  // Of a Push. The driver sets and reads them.
  double clipScale = 1;
  double learningRate = 0;
  /// Of an Answer: how long the bound held it back. The driver measures it.
  double heldSeconds = 0;
};
static_assert(sizeof(Message) == 64);
static_assert(std::is_trivially_copyable_v<Message>);

/// Each is a channel of its own. Messages of one link between two ranks arrive
/// in the order in which they were sent.
enum class Link : int32_t { ToMaster, FromMaster, ToOwner, FromOwner };

/// What a state machine asks for.
struct Action {
  enum class Kind : int32_t {
    Send,    ///< `message` to `peer`
    Copy,    ///< own parameters of bucket `message.bucket` to the working copy
    Apply,   ///< update `message.bucket` with the gradient of trainer `peer`
    Compute, ///< begin the step of `message.ticket`: the working copy is there
    Agree,   ///< all ranks have reached `message.ticket` tickets
  };
  Kind kind = Kind::Send;
  Link link = Link::ToMaster; ///< of a Send
  /// ToMaster, FromMaster: a rank, as Shape numbers them. ToOwner, FromOwner,
  /// Apply: a trainer, of which the rank with this one's position is meant.
  int32_t peer = 0;
  Message message;
  /// Of an Apply that a recorded run did: the digest of the bucket's parameters
  /// after it; 0: not known.
  uint64_t digest = 0;
};

/// Machines append to it. They allocate nothing once it has grown.
using Actions = std::vector<Action>;

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_MESSAGE_H
