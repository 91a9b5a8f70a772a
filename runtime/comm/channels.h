//===- channels.h - The actions start and wait
//------------------------------===//
//
// A program's communication is defined once, before the first step: operations
// that are started and waited for by number, as the actions say. An operation
// is a collective or one end of a transfer.
//
// A channel of collectives is an ordered queue over one group of ranks: they
// run one after another in the order of their starts, which is the same on all
// ranks of the group; collectives on different channels run at the same time.
// Transfers run as soon as both ends have started; those of one (sender,
// receiver, channel) are matched in the order of their starts.
//
// Everything is allocated by define(); start, progress and wait allocate
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_CHANNELS_H
#define PPOPT_COMM_CHANNELS_H

#include "comm/mesh.h"
#include "comm/ring.h"

#include <memory>
#include <string>
#include <vector>

namespace ppopt::comm {

/// Who does the sums: our ring, one order on every transport, bytes counted; or
/// the transport's library (`--collectives=mpi`), in an order of its own.
enum class Collectives { Ring, Native };

/// One `start` action of the program. Pointers, not offsets: the arena exists.
struct CollectiveSpec {
  std::string name;              ///< for messages: the action's id
  std::vector<std::string> axes; ///< the group: see Mesh::group
  std::vector<int> among;
  int channel = 0; ///< >= 0; one group a channel
  void *data = nullptr;
  int64_t elements = 0;
  ElementType type = ElementType::F32;
  void *scratch = nullptr; ///< ringScratchElements(elements, group) elements
  size_t scratchBytes = 0; ///< checked by define()
  RingOp op = RingOp::AllReduce;
};

/// One end of a transfer.
struct TransferSpec {
  std::string name; ///< for messages: the action's id
  bool sends = false;
  int peer = 0;    ///< the rank at the other end
  int channel = 0; ///< none that collectives have
  void *data = nullptr;
  size_t bytes = 0;
};

/// Told when operations end; allocates nothing.
class OperationObserver {
public:
  virtual ~OperationObserver() = default;
  /// This rank has seen that the operation is complete.
  virtual void ended(int operation) = 0;
};

class Channels {
public:
  /// Throws std::invalid_argument where the mesh has another number of ranks
  /// than the transport, or the transport has no collectives of its own.
  Channels(Transport &transport, Mesh mesh,
           Collectives collectives = Collectives::Ring);
  /// Gives up what is in flight: destroy before the arena is freed.
  ~Channels();

  /// Adds a collective and returns its number. All ranks define the same ones
  /// in the same order, before the first step. Throws std::invalid_argument for
  /// an unknown axis, a channel used with another group, or too little scratch.
  int define(const CollectiveSpec &spec);

  /// Adds an end of a transfer and returns its number (one numbering for all
  /// operations). Room for those in flight at once is taken by open(). Throws
  /// std::invalid_argument for a peer or a channel that there is not, or a
  /// channel of collectives.
  int define(const TransferSpec &spec);

  /// After the last define(), on all ranks: takes room for so many transfers in
  /// flight at once, and opens what the library's collectives need.
  void open(int transfers);

  /// Queues a collective on its channel, or posts a transfer. The buffer
  /// belongs to the operation until wait() has returned. Throws
  /// std::logic_error if it has been started and not waited for.
  void start(int operation);

  /// Does what can be done without waiting, for everything in flight. Cheap
  /// when there is nothing; called between kernels. Throws RankFailure if a
  /// rank failed.
  void progress();

  /// Blocks until the operation is done, progressing all others meanwhile.
  /// Throws std::logic_error if it has not been started since its last wait.
  void wait(int operation);

  /// True when the operation is not in flight: wait() would not block.
  bool done(int operation) const;

  /// Bytes that this rank sends for one run of the operation: what the
  /// transport counts (zero where the library does the sums).
  uint64_t bytesSent(int operation) const;

  /// Tells `observer` (which may be null) of all that ends from now on.
  void observe(OperationObserver *observer) { theObserver = observer; }

  const Mesh &mesh() const { return theMesh; }

private:
  struct Operation;
  struct Channel;
  void startRing(Channel &channel);
  void finish(int operation);
  bool frontIsDone(Channel &channel);
  void progressCollectives();
  void progressTransfers(uint64_t completions);
  int waitsFor(const Operation &operation) const;
  Channel &channelOf(const CollectiveSpec &spec);
  void checkChannel(const std::string &name, int channel) const;

  Transport &transport;
  Mesh theMesh;
  Collectives mode;
  OperationObserver *theObserver = nullptr;
  int collectivesInFlight = 0;
  std::vector<int> transfersInFlight;
  uint64_t seenCompletions = 0; ///< when the transfers were last looked at
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Operation>> operations;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_CHANNELS_H
