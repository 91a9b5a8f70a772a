//===- ring.h - Ring collectives over point to point
//------------------------===//
//
// Reduce-scatter, all-gather, and all-reduce made of both, in place, over any
// group of ranks, as non-blocking state machines.
//
// The buffer of E elements is cut into n chunks, one a member: chunk i has
// floor(E/n) elements, and one more where i < E mod n. Chunk i is summed in the
// order of members i+1, i+2, …, i (mod n), each adding its own elements to what
// it received, so that the bits depend on the members' values and order alone,
// and are the same on every transport and, after an all-gather, on every rank.
//
// Elements that the member at position p sends:
//   reduce-scatter  E - |chunk p|
//   all-gather      E - |chunk p+1|
//   all-reduce      2E - |chunk p| - |chunk p+1|
// which is (n-1)/n·E, (n-1)/n·E and 2(n-1)/n·E where n divides E. Empty chunks
// are not sent. With n = 1 nothing is sent.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_RING_H
#define PPOPT_COMM_RING_H

#include "comm/transport.h"

#include <array>

namespace ppopt::comm {

enum class RingOp {
  AllReduce,     ///< data = the sum, on every member
  ReduceScatter, ///< chunk p of data = the sum, on member p; the rest is spoilt
  AllGather,     ///< every chunk = what its member had in it
};

/// The members of a collective, in ring order, and this rank's position.
struct Group {
  std::vector<int> ranks;
  int position = 0;
  int size() const { return static_cast<int>(ranks.size()); }
};

/// First element of chunk `i` of n; `i` = n gives `elements`.
constexpr int64_t chunkBegin(int64_t elements, int n, int i) {
  int64_t remainder = elements % n;
  return elements / n * i + (i < remainder ? i : remainder);
}

constexpr int64_t chunkSize(int64_t elements, int n, int i) {
  return chunkBegin(elements, n, i + 1) - chunkBegin(elements, n, i);
}

/// Elements of scratch memory that AllReduce and ReduceScatter need: ceil(E/n).
/// AllGather, and n = 1, need none.
constexpr int64_t ringScratchElements(int64_t elements, int n) {
  return n == 1 ? 0 : (elements + n - 1) / n;
}

/// Elements that the member at `position` sends (the formula above).
constexpr int64_t ringElementsSent(RingOp op, int64_t elements, int n,
                                   int position) {
  if (n == 1)
    return 0;
  int64_t scatter = elements - chunkSize(elements, n, position);
  int64_t gather = elements - chunkSize(elements, n, (position + 1) % n);
  switch (op) {
  case RingOp::AllReduce:
    return scatter + gather;
  case RingOp::ReduceScatter:
    return scatter;
  case RingOp::AllGather:
    return gather;
  }
  return 0;
}

/// What one collective works on. The memory belongs to the caller and must stay
/// until the collective is done; `scratch` does not overlap `data`.
struct RingCall {
  RingOp op = RingOp::AllReduce;
  const Group *group = nullptr;
  void *data = nullptr;
  int64_t elements = 0;
  ElementType type = ElementType::F32;
  void *scratch = nullptr;
  int channel = 0;
};

/// One collective at a time; reused for the next one when done. At most one
/// collective is in flight on a channel of a group at a time (Channels queues
/// them). Allocates nothing.
class Ring {
public:
  /// Requests in flight of one ring at most: what to reserve() for each.
  static constexpr int maxLanes = 8;
  static constexpr int maxRequests = 2 * maxLanes;

  explicit Ring(Transport &transport) : transport(transport) {}
  /// Gives up what is in flight, so that the caller may free its buffers.
  ~Ring();
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;

  /// Posts the first messages. The ring must be done.
  void start(const RingCall &call);

  /// Does what can be done without waiting; true when the collective is done.
  bool progress();

  /// Blocks until done, progressing this ring only.
  void wait();

  bool done() const { return finished == transfers; }

  /// Of a ring that is not done: a member that it waits for.
  int waitsFor() const;

private:
  // A collective is a sequence of transfers in pairs (one sent on, one
  // received); transfer k is lane k mod `lanes` of round k / `lanes`. A lane is
  // a piece of the chunk, so that adding one piece overlaps the transport of
  // the others; each lane has one send and one receive in flight at most.
  struct Piece {
    char *data;
    int64_t elements;
  };
  Piece piece(int64_t chunk, int lane) const;
  Piece sentPiece(int64_t transfer) const;
  Piece receivedPiece(int64_t transfer) const;
  bool reduces(int64_t transfer) const { return transfer < reduceTransfers; }
  void post(int64_t transfer);

  Transport &transport;
  RingCall call;
  int lanes = 1;
  int64_t laneElements = 0;
  int64_t reduceTransfers = 0; ///< the first so many are reduce-scatter's
  int64_t transfers = 0;
  int64_t finished = 0; ///< transfers whose receive has been used
  std::array<Request, maxLanes> sends;
  std::array<Request, maxLanes> receives;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_RING_H
