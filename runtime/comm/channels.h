//===- channels.h - The actions start and wait
//------------------------------===//
//
// A program's collectives are defined once, before the first step, and then
// started and waited for by number as the actions say. A channel is an ordered
// queue over one group of ranks: collectives on it run one after another in the
// order of their starts, which is the same on all ranks of a group; collectives
// on different channels run at the same time.
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

  /// Queues the collective on its channel. Its buffer belongs to the collective
  /// until wait() has returned. Throws std::logic_error if it has been started
  /// and not waited for.
  void start(int collective);

  /// Does what can be done without waiting, on all channels. Cheap when nothing
  /// is in flight; called between kernels. Throws RankFailure if a rank failed.
  void progress();

  /// Blocks until the collective is done, progressing all channels meanwhile.
  /// Throws std::logic_error if it has not been started since its last wait.
  void wait(int collective);

  /// True when the collective is not in flight: wait() would not block.
  bool done(int collective) const;

  /// Bytes that this rank sends for one run of the collective: what the
  /// transport counts (zero where the library does the sums).
  uint64_t bytesSent(int collective) const;

  /// A channel number that no collective defined so far has: for collectives
  /// of the runtime's own.
  int unusedChannel() const;

  const Mesh &mesh() const { return theMesh; }

private:
  struct Collective;
  struct Channel;
  void startRing(Channel &channel);
  bool frontIsDone(Channel &channel);
  Channel &channelOf(const CollectiveSpec &spec);

  Transport &transport;
  Mesh theMesh;
  Collectives mode;
  int inFlight = 0;
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Collective>> collectives;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_CHANNELS_H
