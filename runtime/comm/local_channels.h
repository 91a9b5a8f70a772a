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

#include "comm/channels.h"
#include "geometry/mesh.h"

#include <memory>
#include <string>
#include <vector>

namespace ppopt::comm {

class LocalChannels {
public:
  LocalChannels();
  ~LocalChannels();

  // Each adds an end and returns its number; collectives and transfers share
  // the numbering.

  /// Adds a member's part of a collective, which must have memory if there are
  /// others. Throws std::invalid_argument for a position that the group does
  /// not have, or a negative number of elements.
  int define(const CollectiveSpec &spec, const geometry::Members &group);
  /// Adds the end of a transfer that is on `place`; its peer is a place, too.
  /// Throws std::invalid_argument for a transfer of a place to itself.
  int define(const TransferSpec &spec, int place);

  /// Starts an end. Returns whether it was the last of its operation, which
  /// then is done. Throws std::logic_error if the end was already started and
  /// not yet waited for, or if the ends do not fit together.
  bool start(int end);

  /// Ends the operation. Throws std::logic_error if it is not done.
  void wait(int end);

  /// Returns whether the end was started and is not yet waited for.
  bool isStarted(int end) const;

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
