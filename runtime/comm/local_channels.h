//===- local_channels.h - Start and wait between places of a process ------===//
//
// What Channels is to ranks, for the places of a local launch. One thread does
// the actions of all places, so an operation is done at once by the start that
// is the last of its ends, and no wait may come before.
//
// The k-th starts of all members of a group on a channel are one collective.
// The k-th send and the k-th receive of one (sender, receiver, channel) are one
// transfer.
//
// A sum is added in the order of the members, each element by itself: the bits
// of an all-reduce are those of a reduce-scatter and an all-gather. Buffers are
// worked on in place, and need no scratch.
//
// define() allocates everything; start and wait allocate nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_LOCAL_CHANNELS_H
#define PPOPT_COMM_LOCAL_CHANNELS_H

#include "comm/element_type.h"
#include "geometry/collective.h"
#include "geometry/mesh.h"

#include <memory>
#include <string>
#include <vector>

namespace ppopt::comm {

/// A place's start of a collective.
struct LocalCollective {
  std::string name;        ///< the action's id, for messages
  geometry::Members group; ///< and the position of the place in it
  int channel = 0;
  void *data = nullptr;
  int64_t elements = 0;
  ElementType type = ElementType::F32;
  geometry::Collective kind = geometry::Collective::AllReduce;
};

/// A place's end of a transfer.
struct LocalTransfer {
  std::string name; ///< the action's id, for messages
  bool sends = false;
  int place = 0;
  int peer = 0; ///< the place at the other end
  int channel = 0;
  void *data = nullptr;
  size_t bytes = 0;
};

class LocalChannels {
public:
  LocalChannels();
  ~LocalChannels();

  /// Add an end and return its number; collectives and transfers share the
  /// numbering. Throw std::invalid_argument for a position that the group does
  /// not have, a negative number of elements, or a transfer of a place to
  /// itself.
  int define(const LocalCollective &spec);
  int define(const LocalTransfer &spec);

  /// Starts an end. Returns whether it was the last of its operation, which
  /// then is done. Throws std::logic_error if the end was already started and
  /// not yet waited for, or if the ends do not fit together.
  bool start(int end);

  /// Ends the operation. Throws std::logic_error if it is not done.
  void wait(int end);

  /// Returns whether the end was started and is not yet waited for.
  bool isStarted(int end) const;

  /// Returns whether the operation is done and not waited for.
  bool done(int end) const;

  /// Returns the bytes that the operation reads and writes.
  int64_t bytesMoved(int end) const;

private:
  struct End;
  struct Channel;
  Channel &channelOf(const std::vector<int> &members, int number,
                     bool isOfTransfers);
  End &add(Channel &channel, int position);
  void checkFit(const Channel &channel) const;
  void complete(Channel &channel);

  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<End>> ends;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_LOCAL_CHANNELS_H
