//===- ring.cpp - Ring collectives over point to point --------------------===//

#include "comm/ring.h"

#include "comm/add_elements.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace ppopt::comm {

using namespace geometry;

/// Smaller lanes cost more in messages than their overlap saves.
static constexpr int64_t laneBytes = 128 * 1024;

/// Lanes begin at multiples of this many elements, so that they are whole cache
/// lines of scratch.
static constexpr int64_t laneGranule = 64;

static int wrap(int64_t chunk, int n) {
  return static_cast<int>(((chunk % n) + n) % n);
}

Ring::~Ring() {
  for (Request &request : sends)
    transport.cancel(request);
  for (Request &request : receives)
    transport.cancel(request);
}

void Ring::start(const RingCall &newCall) {
  if (!done())
    throw std::logic_error("a ring collective was started while another one "
                           "was in flight in the same object");
  call = newCall;
  int n = call.group->size();
  int64_t largest = largestChunk(call.elements, n);
  int64_t bytes = largest * static_cast<int64_t>(sizeOf(call.type));
  int64_t wanted = std::clamp<int64_t>(bytes / laneBytes, 1, maxLanes);
  laneElements = (largest + wanted - 1) / wanted;
  if (wanted > 1)
    laneElements = (laneElements + laneGranule - 1) / laneGranule * laneGranule;
  lanes = laneElements == 0
              ? 1
              : static_cast<int>((largest + laneElements - 1) / laneElements);

  reduceTransfers =
      reduces(call.kind) ? static_cast<int64_t>(n - 1) * lanes : 0;
  transfers = rounds(call.kind, n) * lanes;
  finished = 0;
  unposted = elementsSent(call.kind, call.elements, n, call.group->position) *
             static_cast<int64_t>(sizeOf(call.type));
  for (int64_t transfer = 0; transfer < std::min<int64_t>(lanes, transfers);
       ++transfer)
    post(transfer);
}

Ring::Piece Ring::piece(int64_t chunk, int lane) const {
  int n = call.group->size();
  int index = wrap(chunk, n);
  int64_t size = chunkSize(call.elements, n, index);
  int64_t begin = std::min(lane * laneElements, size);
  int64_t end = std::min(begin + laneElements, size);
  int64_t offset = chunkBegin(call.elements, n, index) + begin;
  return {static_cast<char *>(call.data) +
              offset * static_cast<int64_t>(sizeOf(call.type)),
          end - begin};
}

// A broadcast goes along the ring chunk by chunk: member p sends chunk c in
// round c+p, the round after it received it.
static std::optional<int64_t> findPassedChunk(int64_t round, int from, int n) {
  int64_t chunk = round - from;
  bool sends = from >= 0 && from + 1 < n && chunk >= 0 && chunk < n;
  return sends ? std::optional(chunk) : std::nullopt;
}

// In round s of an all-to-all of an odd number of members, those at p and at
// s - p exchange chunks: each overwrites what it has just sent. The one that is
// its own partner rests, or is the partner of one more member.

int Ring::partner(int64_t transfer) const {
  int n = call.group->size(), position = call.group->position;
  int odd = n - 1 + n % 2;
  int64_t round = transfer / lanes;
  if (position == odd)
    return wrap(round * ((odd + 1) / 2), odd);
  int other = wrap(round - position, odd);
  return other == position && odd < n ? odd : other;
}

int Ring::sender(int64_t transfer) const {
  return isExchanged() ? partner(transfer)
                       : wrap(call.group->position - 1, call.group->size());
}

int Ring::receiver(int64_t transfer) const {
  return isExchanged() ? partner(transfer)
                       : wrap(call.group->position + 1, call.group->size());
}

// Round s of reduce-scatter sends the sum of chunk p-1-s and receives that of
// chunk p-2-s; the last chunk received is chunk p. Round s of all-gather sends
// chunk p-s and receives chunk p-1-s.

Ring::Piece Ring::sentPiece(int64_t transfer) const {
  int lane = static_cast<int>(transfer % lanes);
  int64_t round = transfer / lanes;
  if (isExchanged())
    return receivedPiece(transfer);
  if (call.kind == Collective::Broadcast) {
    auto chunk =
        findPassedChunk(round, call.group->position, call.group->size());
    return chunk ? piece(*chunk, lane) : Piece{nullptr, 0};
  }
  if (isReduced(transfer))
    return piece(call.group->position - 1 - round, lane);
  return piece(call.group->position - (round - reduceTransfers / lanes), lane);
}

Ring::Piece Ring::receivedPiece(int64_t transfer) const {
  int lane = static_cast<int>(transfer % lanes);
  int64_t round = transfer / lanes;
  if (isExchanged()) {
    int peer = partner(transfer);
    return peer == call.group->position ? Piece{nullptr, 0} : piece(peer, lane);
  }
  if (call.kind == Collective::Broadcast) {
    auto chunk =
        findPassedChunk(round, call.group->position - 1, call.group->size());
    return chunk ? piece(*chunk, lane) : Piece{nullptr, 0};
  }
  if (isReduced(transfer))
    return piece(call.group->position - 2 - round, lane);
  return piece(call.group->position - 1 - (round - reduceTransfers / lanes),
               lane);
}

// Called for the first transfer of each lane, then whenever the lane's previous
// transfer has been consumed and its send has completed. So the lane's scratch
// is free, and what is sent is complete. What an all-gather overwrites was sent
// long before, because the lane's reduce-scatter transfers are done.
void Ring::post(int64_t transfer) {
  const Members &group = *call.group;
  int lane = static_cast<int>(transfer % lanes);
  int64_t elementBytes = static_cast<int64_t>(sizeOf(call.type));

  Piece in = receivedPiece(transfer);
  if (in.elements > 0) {
    void *into = usesScratch(transfer) ? static_cast<char *>(call.scratch) +
                                             lane * laneElements * elementBytes
                                       : in.data;
    receives[lane] =
        transport.irecv(into, in.elements * elementBytes,
                        group.ranks[sender(transfer)], call.channel);
  }
  Piece out = sentPiece(transfer);
  if (out.elements > 0)
    sends[lane] =
        transport.isend(out.data, out.elements * elementBytes,
                        group.ranks[receiver(transfer)], call.channel);
  unposted -= out.elements * elementBytes;
}

/// Adds what has arrived, or puts it in place of what was sent.
void Ring::takeFromScratch(int64_t transfer) {
  int64_t lane = transfer % lanes;
  auto size = static_cast<int64_t>(sizeOf(call.type));
  Piece to = receivedPiece(transfer);
  const char *arrived =
      static_cast<char *>(call.scratch) + lane * laneElements * size;
  if (call.kind == Collective::AllReduceMax)
    takeMaxima(to.data, arrived, to.elements, call.type);
  else if (!isExchanged())
    addElements(to.data, arrived, to.elements, call.type);
  else if (to.elements > 0)
    std::memcpy(to.data, arrived, static_cast<size_t>(to.elements * size));
}

bool Ring::progress() {
  while (finished < transfers) {
    int lane = static_cast<int>(finished % lanes);
    if (!transport.test(receives[lane]) || !transport.test(sends[lane]))
      return false;
    if (usesScratch(finished))
      takeFromScratch(finished);
    int64_t next = finished + lanes;
    ++finished;
    if (next < transfers)
      post(next);
  }
  return true;
}

int Ring::waitsFor() const {
  const Members &group = *call.group;
  bool lacksData = receives[static_cast<size_t>(finished % lanes)].pending();
  return group.ranks[lacksData ? sender(finished) : receiver(finished)];
}

void Ring::wait() {
  while (true) {
    uint64_t seen = transport.completions();
    if (progress())
      return;
    transport.awaitCompletion(seen);
  }
}

} // namespace ppopt::comm
