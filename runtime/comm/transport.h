//===- transport.h - Messages between the ranks of a job
//--------------------===//
//
// One Transport object a rank, used by one thread of that rank (the one that
// runs the actions). Two implementations: ranks as threads of one process
// (thread_transport.h) and MPI (mpi_module.h).
//
//  - Messages on one (sender, receiver, channel) are matched in the order in
//    which they were posted; messages on different channels are independent.
//  - A send may complete only when its receive is posted (rendezvous): a caller
//    that relies on buffering is wrong on every transport, and
//    PPOPT_SYNC_SENDS=1 makes MPI behave so too.
//  - The receive names exactly as many bytes as the send; anything else is an
//    error that ends the job.
//  - Nothing is allocated after reserve(): isend, irecv, test and wait draw on
//  a
//    pool of requests.
//  - A rank that fails takes the others down, those that wait as well. Nobody
//    waits for ever. docs/runtime-communication.md has the details.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_TRANSPORT_H
#define PPOPT_COMM_TRANSPORT_H

#include "comm/activity.h"
#include "comm/element_type.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace ppopt::comm {

/// Thrown on every rank of a job in which `rank()` failed.
class RankFailure : public std::runtime_error {
public:
  RankFailure(int rank, const std::string &reason)
      : std::runtime_error("rank " + std::to_string(rank) + ": " + reason),
        failedRank(rank), text(reason) {}
  int rank() const { return failedRank; }
  const std::string &reason() const { return text; }

private:
  int failedRank;
  std::string text;
};

/// A transfer in flight; empty when it was never started, or when test() or
/// wait() has seen its end. Belongs to the transport that returned it.
struct Request {
  int index = -1;
  int peer = Activity::anyRank; ///< the rank at the other end
  bool pending() const { return index >= 0; }
};

/// What a rank has put on the wire. Counted when a send is posted; what
/// NativeCollectives move is not seen here.
struct TrafficCounters {
  uint64_t bytesSent = 0;
  uint64_t messagesSent = 0;
};

/// Collectives that a transport's library offers by itself
/// (`--collectives=mpi`). Their order of additions is the library's.
class NativeCollectives {
public:
  virtual ~NativeCollectives() = default;

  /// Opens an ordered queue over `ranks` and returns its number. Called before
  /// the first step, by all of `ranks`, in one order on all ranks of the job.
  virtual int openGroup(const std::vector<int> &ranks, int channel) = 0;

  /// Starts a sum over the group, in place. Starts on one group happen in the
  /// same order on all its ranks. Throws std::invalid_argument beyond
  /// maxElements.
  virtual Request iallReduce(void *data, int64_t elements, ElementType type,
                             int group) = 0;

  /// The most elements that one iallReduce takes.
  virtual int64_t maxElements() const = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;

  int rank() const { return myRank; }
  int size() const { return rankCount; }

  /// "threads" or "mpi".
  virtual const char *kind() const = 0;

  /// Starts sending `bytes` bytes to `peer`; the buffer must not change until
  /// the request has completed. Counts the bytes.
  Request isend(const void *data, size_t bytes, int peer, int channel) {
    checkPeer(peer, channel);
    Request request = postSend(data, bytes, peer, channel);
    request.peer = peer;
    traffic.bytesSent += bytes;
    traffic.messagesSent += 1;
    return request;
  }

  /// Starts receiving `bytes` bytes from `peer`; the buffer belongs to the
  /// transport until the request has completed.
  Request irecv(void *data, size_t bytes, int peer, int channel) {
    checkPeer(peer, channel);
    Request request = postReceive(data, bytes, peer, channel);
    request.peer = peer;
    return request;
  }

  /// True when the transfer has completed (then the request is empty), and for
  /// an empty request. Progresses the transport.
  virtual bool test(Request &request) = 0;

  /// Blocks until the transfer has completed. Does not progress collectives
  /// that are state machines of their own: see Channels::wait.
  void wait(Request &request) {
    Activity::Wait wait(theActivity);
    while (true) {
      uint64_t seen = completions();
      if (test(request))
        return;
      wait.on(Activity::WaitsIn::Message, -1, request.peer);
      awaitCompletion(seen);
    }
  }

  /// Throws RankFailure if a rank has failed. Cheap. (Where ranks are processes
  /// the watch has ended this one.)
  virtual void throwIfFailed() = 0;

  /// Progresses the transport; a count that has risen if any transfer of this
  /// rank completed since the last call. Throws RankFailure if a rank failed.
  virtual uint64_t completions() = 0;

  /// Blocks until completions() differs from `seen`. With it a caller that
  /// drives several state machines sleeps without missing an event: read
  /// completions(), progress them all, then await with the count read.
  virtual void awaitCompletion(uint64_t seen) = 0;

  /// Gives up a transfer: afterwards the buffer is not touched any more. Only
  /// on the way to a failure (destructors); the peer may never see the message.
  virtual void cancel(Request &request) noexcept = 0;

  /// Returns when all ranks have called it.
  virtual void barrier() = 0;

  /// This rank failed: `reason` is one line that says what is wrong. Throws
  /// RankFailure, which ends the job where it leaves the rank's body.
  [[noreturn]] virtual void abort(const std::string &reason) = 0;

  /// Makes room for `requests` more transfers in flight at once. Called before
  /// the first step; a post that finds the pool full throws std::length_error.
  virtual void reserve(int requests) = 0;

  /// The largest channel number that isend and irecv take.
  virtual int maxChannel() const = 0;

  /// Null where the transport's library has none.
  virtual NativeCollectives *nativeCollectives() { return nullptr; }

  const TrafficCounters &counters() const { return traffic; }

  /// What this rank is doing.
  Activity &activity() { return theActivity; }

protected:
  /// `activity` must outlive the transport.
  Transport(int rank, int size, Activity &activity)
      : myRank(rank), rankCount(size), theActivity(activity) {}

  virtual Request postSend(const void *data, size_t bytes, int peer,
                           int channel) = 0;
  virtual Request postReceive(void *data, size_t bytes, int peer,
                              int channel) = 0;

private:
  void checkPeer(int peer, int channel) const {
    if (peer < 0 || peer >= rankCount || peer == myRank)
      throw std::invalid_argument("rank " + std::to_string(myRank) +
                                  " has no peer " + std::to_string(peer) +
                                  ": the job has " + std::to_string(rankCount) +
                                  " ranks");
    if (channel < 0 || channel > maxChannel())
      throw std::invalid_argument("channel " + std::to_string(channel) +
                                  " is not in 0.." +
                                  std::to_string(maxChannel()));
  }

  int myRank;
  int rankCount;
  TrafficCounters traffic;
  Activity &theActivity;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_TRANSPORT_H
