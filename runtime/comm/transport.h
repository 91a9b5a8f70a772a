//===- transport.h - Messages between the ranks of a job ------------------===//
//
// One Transport object per rank, used by one thread of that rank: the one that
// runs the actions. Two implementations: ranks as threads of one process
// (thread_transport.h) and MPI (mpi_module.h).
//
//  - Messages on one (sender, receiver, channel) match in the order in which
//    they are posted. Messages on different channels are independent.
//  - A send may complete only when its receive is posted (rendezvous). A caller
//    that relies on buffering is wrong on every transport; PPOPT_SYNC_SENDS=1
//    makes MPI behave this way too.
//  - The receive specifies exactly as many bytes as the send; anything else is
//    an error that ends the job.
//  - Nothing is allocated after reserve(): isend, irecv, test and wait use a
//    pool of requests.
//  - A rank that fails ends the others too, including those that wait. No rank
//    waits forever. docs/runtime-communication.md has the details.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_TRANSPORT_H
#define PPOPT_COMM_TRANSPORT_H

#include "comm/activity.h"
#include "comm/element_type.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
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

/// Returns the reason of a rank's failure: of the exception that is handled.
inline std::string describeFailure() {
  try {
    throw;
  } catch (const RankFailure &failure) {
    return failure.reason();
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

/// A transfer in flight. Empty if it was never started, or after test() or
/// wait() has seen its completion. Belongs to the transport that returned it.
struct Request {
  int index = -1;
  int peer = Activity::anyRank; ///< the rank at the other end
  bool pending() const { return index >= 0; }
};

/// What a rank has sent. Counted when a send is posted; excludes
/// NativeCollectives.
struct TrafficCounters {
  uint64_t bytesSent = 0;
  uint64_t messagesSent = 0;
};

/// Collectives of a transport's library (`--collectives=mpi`). The library
/// decides the order of additions.
class NativeCollectives {
public:
  virtual ~NativeCollectives() = default;

  /// Opens an ordered queue over `ranks` and returns its number. All of `ranks`
  /// call it before the first step, in one order on all ranks of the job.
  virtual int openGroup(const std::vector<int> &ranks, int channel) = 0;

  /// Starts an in-place sum over the group. All ranks of a group start its sums
  /// in the same order. Throws std::invalid_argument beyond maxElements.
  virtual Request iallReduce(void *data, int64_t elements, ElementType type,
                             int group) = 0;

  /// Returns the most elements that one iallReduce accepts.
  virtual int64_t maxElements() const = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;

  int rank() const { return myRank; }
  int size() const { return rankCount; }

  /// Returns "threads" or "mpi".
  virtual const char *kind() const = 0;
  /// Returns whether ranks are threads of one process.
  virtual bool sharesProcess() const { return false; }

  /// Starts sending `bytes` bytes to `peer` and counts them. The buffer must
  /// not change until the request has completed.
  Request isend(const void *data, size_t bytes, int peer, int channel) {
    checkPeer(peer, channel);
    Request request = postSend(data, bytes, peer, channel);
    request.peer = peer;
    traffic.bytesSent += bytes;
    traffic.messagesSent += 1;
    return request;
  }

  /// Starts receiving `bytes` bytes from `peer`. The buffer belongs to the
  /// transport until the request has completed.
  Request irecv(void *data, size_t bytes, int peer, int channel) {
    checkPeer(peer, channel);
    Request request = postReceive(data, bytes, peer, channel);
    request.peer = peer;
    return request;
  }

  /// Returns true if the transfer has completed (and empties the request), and
  /// for an empty request. Progresses the transport.
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

  /// Throws RankFailure if a rank has failed. Cheap. (If ranks are processes,
  /// the watch has already ended this one.)
  virtual void throwIfFailed() = 0;

  /// Progresses the transport and returns a count that has increased if any
  /// transfer of this rank completed since the last call. Throws RankFailure if
  /// a rank has failed.
  virtual uint64_t completions() = 0;

  /// Blocks until completions() differs from `seen`. A caller that drives
  /// several state machines can sleep without missing an event: read
  /// completions(), progress all of them, then await with the count read.
  virtual void awaitCompletion(uint64_t seen) = 0;

  /// Abandons a transfer: from then on the buffer is not accessed. Only for
  /// destructors after a failure; the peer may never receive the message.
  virtual void cancel(Request &request) noexcept = 0;

  /// Returns when all ranks have called it.
  virtual void barrier() = 0;

  /// Reports that this rank failed; `reason` is one line that says what is
  /// wrong. Throws RankFailure, which ends the job when it leaves the rank's
  /// body.
  [[noreturn]] virtual void abort(const std::string &reason) = 0;

  /// Tells the other ranks of the exception that is handled, at once instead of
  /// when it leaves the rank's body: what is destroyed until then may wait for
  /// them. The first failure of a job counts. If ranks are processes, this one
  /// ends.
  void tellFailure() {
    if (failureTeller)
      failureTeller(describeFailure());
  }
  /// For who runs the ranks.
  void tellFailuresBy(std::function<void(const std::string &reason)> teller) {
    failureTeller = std::move(teller);
  }

  /// Makes room for `requests` more transfers in flight at once. Called before
  /// the first step. A post that finds the pool full throws std::length_error.
  virtual void reserve(int requests) = 0;

  /// Returns the largest channel number that isend and irecv accept.
  virtual int maxChannel() const = 0;

  /// Returns null if the transport's library has no collectives.
  virtual NativeCollectives *nativeCollectives() { return nullptr; }

  const TrafficCounters &counters() const { return traffic; }

  /// Returns what this rank publishes about its state.
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
  std::function<void(const std::string &reason)> failureTeller;
  TrafficCounters traffic;
  Activity &theActivity;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_TRANSPORT_H
