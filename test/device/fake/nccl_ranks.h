//===- nccl_ranks.h - The ranks of a communicator -------------------------===//
//
// What all ranks have called, and which calls belong together. A call takes
// part in a rendezvous: that of a collective has a slot for each rank, that of
// a transfer one for the sender and one for the receiver. It is complete when
// all slots have started.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_RANKS_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_RANKS_H

#include "fake/machine.h"
#include "fake/nccl_events.h"

#include <deque>
#include <set>
#include <utility>

namespace ppopt::cuda::fake {

/// Ends a call of this library. A message is printed.
struct NcclFailure {
  NcclResult result;
  std::string message;
};

template <typename... Args>
[[noreturn]] void refuseNccl(NcclResult result,
                             fmt::format_string<Args...> format,
                             Args &&...args) {
  throw NcclFailure{result, fmt::format(format, std::forward<Args>(args)...)};
}

/// A call, again for each launch of a graph.
struct Call {
  int rank = -1;
  Request request;
  int64_t number = 0;      ///< of this rank's calls, from 1
  int64_t collectives = 0; ///< that the rank called before
  std::string where;       ///< "operation 3 of stream 1 of GPU 0"
  bool isIssued = false, isStarted = false;
  SentBytes sent;
  // In the process of the rank:
  OperationRef start, end;
  bool isReleased = false; ///< the end does not wait for it
};

struct Rendezvous {
  std::vector<Call> calls;
  size_t started = 0;
};

/// A slot of a rendezvous.
struct CallRef {
  std::shared_ptr<Rendezvous> of;
  size_t slot = 0;
  Call &operator*() const { return of->calls[slot]; }
  Call *operator->() const { return &of->calls[slot]; }
};

/// What the process of a rank has of it.
struct LocalRank {
  FakeContext *context = nullptr;
  int64_t owner = 0; ///< the thread that called last
  OperationRef last; ///< operations of a rank follow one another
};

struct Member {
  Presence presence = Presence::absent;
  std::string gpu, uuid;            ///< "GPU 0"
  std::unique_ptr<LocalRank> local; ///< null: it is in another process
  int link = -1;                    ///< then, to whom tells us of it
  int64_t calls = 0, collectives = 0;
  std::string lastCall;
  /// Calls that have not started, by number.
  std::map<int64_t, CallRef> issued;
  /// What it has called once: those who did are connected.
  std::set<std::pair<Request::Kind, int>> announced;
};

/// Each process of a communicator has one, with the same state. What ranks of
/// this process do is told to the others.
class RankGroup {
public:
  /// `name`: "communicator 1"
  RankGroup(std::string name, int size);

  const std::string name;
  std::vector<Member> members;
  /// Why the communicator can't be used any more.
  std::optional<NcclFailure> failure;

  /// Tells other processes.
  std::function<void(const Event &)> publish;

  int size() const { return int(members.size()); }
  /// Adds a rank. `ranks`: how many it expects.
  void join(int rank, int ranks, Member member);
  bool isComplete() const;
  /// "ranks 1, 3"
  std::string describeAbsent() const;
  /// "rank 0 of communicator 1 (GPU 0)"
  std::string describe(int rank) const;

  /// The host of the rank calls this for the first time, maybe.
  void announce(int rank, const Request &request);
  /// Returns whether all that a call needs have announced theirs, or left.
  bool isConnected(int rank, const Request &request) const;

  /// The rank calls. `start`: null in other processes.
  CallRef issue(int rank, const Request &request, std::string where,
                OperationRef start);
  /// The rank's stream has come to the call.
  void start(const CallRef &call, SentBytes sent);
  /// Says for whom the call waits; "" if it does not.
  std::string describeWait(const CallRef &call) const;

  void leave(int rank, Presence how);
  /// A rank of another process, which `link` leads to, did something.
  void apply(Event event, int link);
  /// The event that told of a rank that has joined.
  Event joinEvent(int rank) const;
  /// Ends all operations of the communicator. The message is printed.
  void breakDown(NcclResult result, const std::string &message);
  /// Returns a line for each call whose counterpart was not called.
  std::vector<std::string> describeUnanswered() const;

private:
  std::string describe(const Call &call) const;
  CallRef findSlot(int rank, const Request &request);
  void compare(const CallRef &call);
  void release(Call &call);

  std::map<int64_t, std::shared_ptr<Rendezvous>> collectives; ///< by number
  /// By sender and receiver: those of which one side has been called.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Rendezvous>>>
      transfers;
  std::set<std::shared_ptr<Rendezvous>> open; ///< not complete
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_RANKS_H
