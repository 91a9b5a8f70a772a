//===- channels.h - The actions start and wait ----------------------------===//
//
// All communication of a program is defined once, before the first step, as
// numbered operations. The actions start and wait for them by number. An
// operation is a collective or one end of a transfer.
//
// A channel of collectives is an ordered queue over one group of ranks. Its
// collectives run one after another in the order of their starts, which is the
// same on all ranks of the group. Collectives on different channels run
// concurrently. A transfer runs as soon as both ends have started. Transfers of
// one (sender, receiver, channel) match in the order of their starts.
//
// define() allocates everything; start, progress and wait allocate nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_CHANNELS_H
#define PPOPT_COMM_CHANNELS_H

#include "comm/ring.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ppopt::comm {

/// Who computes the sums. Ring: our ring, with one order of additions on every
/// transport, and bytes counted. Native: the transport's library
/// (`--collectives=mpi`), in its own order. Device: the device, which also
/// makes transfers (`--collectives=nccl`), in its own order; not by Channels.
enum class Collectives { Ring, Native, Device };

/// Returns the word of --collectives.
constexpr const char *nameOf(Collectives collectives) {
  constexpr const char *words[] = {"ring", "mpi", "nccl"};
  return words[int(collectives)];
}

/// One `start` action of the program. Has pointers, not offsets, because the
/// arena already exists.
struct CollectiveSpec {
  std::string name; ///< the action's id, for messages
  geometry::Group group;
  int channel = 0; ///< >= 0; one group per channel
  /// Null: each start gives the memory, and there is none to check here.
  void *data = nullptr;
  int64_t elements = 0;
  ElementType type = ElementType::F32;
  void *scratch = nullptr; ///< geometry::scratchElements() elements
  size_t scratchBytes = 0; ///< define() checks it
  geometry::Collective kind = geometry::Collective::AllReduce;
};

/// One end of a transfer.
struct TransferSpec {
  std::string name; ///< the action's id, for messages
  bool sends = false;
  int peer = 0;    ///< the rank at the other end
  int channel = 0; ///< must not be a channel of collectives
  void *data = nullptr;
  size_t bytes = 0;
};

/// Is notified when operations begin and end. Must not allocate.
class OperationObserver {
public:
  virtual ~OperationObserver() = default;
  /// This rank starts the operation.
  virtual void began(int operation) = 0;
  /// This rank has seen that the operation is complete.
  virtual void ended(int operation) = 0;
};

class Channels {
public:
  /// Throws std::invalid_argument if the mesh is none, or has another number of
  /// ranks than the transport, or if the transport has no native collectives.
  Channels(Transport &transport, geometry::Mesh mesh,
           Collectives collectives = Collectives::Ring);
  /// Cancels what is in flight: destroy it before the arena is freed.
  ~Channels();

  /// Adds a collective and returns its number. All ranks define the same
  /// collectives in the same order, before the first step. Throws
  /// std::invalid_argument for an unknown axis, a channel used with another
  /// group, or too little scratch.
  int define(const CollectiveSpec &spec);

  /// Adds one end of a transfer and returns its number; collectives and
  /// transfers share the numbering. open() makes room for those in flight.
  /// Throws std::invalid_argument for a peer or channel that does not exist, or
  /// a channel of collectives.
  int define(const TransferSpec &spec);

  /// Call on all ranks after the last define(). Makes room for `transfers`
  /// transfers in flight at once, and opens the groups of native collectives.
  void open(int transfers);

  /// Queues a collective on its channel, or posts a transfer. The buffer
  /// belongs to the operation until wait() returns. Throws std::logic_error if
  /// the operation was already started and not yet waited for.
  void start(int operation);

  /// Starts a collective that was defined without memory. Throws
  /// std::logic_error if it was defined with it, or needs scratch and gets
  /// none.
  void start(int operation, void *data, void *scratch);

  /// Progresses everything in flight without blocking. Cheap if nothing is in
  /// flight; called between kernels. Throws RankFailure if a rank has failed.
  void progress();

  /// Blocks until the operation is done, and progresses all others meanwhile.
  /// Throws std::logic_error if it was not started since its last wait.
  void wait(int operation);

  /// Returns whether anything is in flight: progress() does something.
  bool hasInFlight() const {
    return collectivesInFlight > 0 || !transfersInFlight.empty();
  }

  /// Returns whether the operation was started and is not yet waited for.
  bool isStarted(int operation) const;

  /// Returns true if the operation is not in flight: wait() would not block.
  bool done(int operation) const;

  /// Returns the bytes that this rank sends in one run of the operation, as the
  /// transport counts them (zero for native collectives).
  uint64_t bytesSent(int operation) const;

  /// Returns the bytes that this rank will still send, as the transport counts
  /// them, in the operations that are in flight.
  uint64_t pendingBytes() const;

  /// Notifies `observer` (may be null) of all operations that begin and end
  /// from now on.
  void observe(OperationObserver *observer) { theObserver = observer; }

  /// Calls `work` (may be null) in each wait, before it blocks: what it waits
  /// for with completions of the same transport goes on.
  void setWaitingWork(std::function<void()> work) {
    waitingWork = std::move(work);
  }

private:
  struct Operation;
  struct Channel;
  Operation &begin(int number);
  void startCollective(int number, Operation &operation);
  void startRing(Channel &channel);
  void finish(int operation);
  bool frontIsDone(Channel &channel);
  void progressCollectives();
  void progressTransfers(uint64_t completions);
  int waitsFor(const Operation &operation) const;
  Channel &channelOf(const CollectiveSpec &spec);
  void checkChannel(const std::string &name, int channel) const;

  Transport &transport;
  geometry::Mesh theMesh;
  Collectives mode;
  OperationObserver *theObserver = nullptr;
  std::function<void()> waitingWork;
  int collectivesInFlight = 0;
  std::vector<int> transfersInFlight;
  uint64_t seenCompletions = 0; ///< the count when transfers were last tested
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Operation>> operations;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_CHANNELS_H
