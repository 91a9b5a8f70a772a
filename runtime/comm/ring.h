//===- ring.h - Ring collectives over point to point ----------------------===//
//
// Reduce-scatter, all-gather, and all-reduce (both in sequence), and the
// exchange of chunks by pairs (all-to-all), in place, over any group of ranks,
// as non-blocking state machines.
//
// geometry/collective.h defines the chunks and what each member sends. Chunk i
// is summed in the order of members i+1, i+2, …, i (mod n). Each member adds
// its own elements to what it received. So the bits depend only on the members'
// values and order. They are the same on every transport and, after an
// all-gather, on every rank.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_RING_H
#define PPOPT_COMM_RING_H

#include "comm/transport.h"
#include "geometry/collective.h"
#include "geometry/mesh.h"

#include <array>

namespace ppopt::comm {

/// The arguments of one collective. The memory belongs to the caller and must
/// live until the collective is done; `scratch` does not overlap `data`.
struct RingCall {
  geometry::Collective kind = geometry::Collective::AllReduce;
  /// In ring order; the memory belongs to the caller.
  const geometry::Members *group = nullptr;
  void *data = nullptr;
  int64_t elements = 0;
  ElementType type = ElementType::F32;
  void *scratch = nullptr;
  int channel = 0;
};

/// Runs one collective at a time and can be reused when done. At most one
/// collective is in flight per channel of a group (Channels queues them).
/// Allocates nothing.
class Ring {
public:
  /// The most requests that one ring has in flight: reserve() this many for
  /// each.
  static constexpr int maxLanes = 8;
  static constexpr int maxRequests = 2 * maxLanes;

  explicit Ring(Transport &transport) : transport(transport) {}
  /// Cancels what is in flight, so that the caller may free its buffers.
  ~Ring();
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;

  /// Posts the first messages. The previous collective must be done.
  void start(const RingCall &call);

  /// Progresses without blocking; returns true when the collective is done.
  bool progress();

  /// Blocks until done, progressing this ring only.
  void wait();

  bool done() const { return finished == transfers; }

  /// Returns the bytes of this collective that are not yet posted to be sent.
  int64_t unpostedBytes() const { return unposted; }

  /// Returns a member that this ring waits for. The ring must not be done.
  int waitsFor() const;

private:
  // A collective is a sequence of transfers, each a send and a receive.
  // Transfer k is lane k mod `lanes` of round k / `lanes`. A lane is a piece of
  // the chunk, so that the addition of one piece overlaps the transfer of the
  // others. Each lane has at most one send and one receive in flight.
  struct Piece {
    char *data;
    int64_t elements;
  };
  Piece piece(int64_t chunk, int lane) const;
  Piece sentPiece(int64_t transfer) const;
  Piece receivedPiece(int64_t transfer) const;
  bool isReduced(int64_t transfer) const { return transfer < reduceTransfers; }
  bool isExchanged() const {
    return call.kind == geometry::Collective::AllToAll;
  }
  /// Returns whether what is received goes to scratch memory first.
  bool usesScratch(int64_t transfer) const {
    return isReduced(transfer) || isExchanged();
  }
  int partner(int64_t transfer) const;
  int sender(int64_t transfer) const;
  int receiver(int64_t transfer) const;
  void takeFromScratch(int64_t transfer);
  void post(int64_t transfer);

  Transport &transport;
  RingCall call;
  int lanes = 1;
  int64_t laneElements = 0;
  int64_t reduceTransfers = 0; ///< the first ones: transfers of reduce-scatter
  int64_t transfers = 0;
  int64_t finished = 0; ///< transfers whose receive has been consumed
  int64_t unposted = 0; ///< bytes
  std::array<Request, maxLanes> sends;
  std::array<Request, maxLanes> receives;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_RING_H
