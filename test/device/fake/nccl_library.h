//===- nccl_library.h - The state of the fake NCCL ------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_LIBRARY_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_LIBRARY_H

#include "fake/nccl_launch.h"
#include "fake/nccl_links.h"

#include <tuple>

namespace ppopt::cuda::fake {

/// What a communicator's id says.
struct IdContent {
  uint64_t magic = 0x6c63636e70706f; ///< "oppnccl"
  uint64_t token = 0;
  int32_t process = 0, number = 0;

  using Key = std::tuple<uint64_t, int32_t, int32_t>;
  Key key() const { return {token, process, number}; }
  /// To which other processes connect.
  std::string socketName() const;
};
static_assert(sizeof(IdContent) <= sizeof(CommunicatorId));

/// A rank's communicator.
struct FakeCommunicator {
  RankGroup *group = nullptr;
  int rank = 0;
  bool isReady = false;

  Member &member() const { return group->members[rank]; }
};

/// A call that waits for the end of its group.
struct GroupedCall {
  FakeCommunicator communicator;
  Stream stream = nullptr;
  Part part;
};

/// What a thread has called since it began a group.
struct ThreadGroup {
  int depth = 0;
  NcclResult error = NcclResult::success;
  std::vector<Communicator> joining;
  std::vector<GroupedCall> calls;
  std::vector<FakeCommunicator> aborted;
};
ThreadGroup &threadGroup();

class Nccl {
public:
  /// The only one. It is made by the first call, and never destroyed.
  static Nccl &get();

  std::string lastError;
  bool holdsBack = false; ///< a plant lets calls of a thread wait for the next

  FakeCommunicator &at(Communicator handle);
  /// Refuses what is no longer of use. The message was printed.
  void checkUsable(const RankGroup &group);

  IdContent makeId();
  /// A rank joins the communicator of an id.
  Communicator join(const IdContent &id, int ranks, int rank,
                    FakeContext &context);
  /// Waits until all ranks have joined.
  void awaitRanks(const std::vector<Communicator> &joining);
  /// Takes a rank out of its communicator. Refuses this if others wait for it.
  void leave(Communicator handle, Presence how);
  /// Waits as NCCL does before it frees communicators which ranks have left:
  /// for the operations of the ranks, and until no graph has any. (Of several
  /// ranks in a process NCCL lets the last one wait for all.) `symbol`: the
  /// call that waits.
  void awaitEnd(const std::vector<FakeCommunicator> &left, const char *symbol);
  /// The second of both alone.
  void awaitGraphs(const FakeCommunicator &communicator, const char *symbol);

  /// Adds calls to their streams. Those of one communicator start together, the
  /// collectives before the transfers.
  void launchAll(const std::vector<GroupedCall> &calls);

private:
  /// The ranks of an id.
  struct Group {
    IdContent id;
    std::unique_ptr<RankGroup> ranks; ///< null: none has joined
    bool isHub = false;               ///< we made the id: others are told by us
    std::vector<int> links;
  };
  Nccl();
  Group &groupOf(const IdContent &id);
  void createRanks(Group &group, int ranks);
  void closeComplete(const Group &group);
  void tell(const Group &group, const Event &event, int except = -1);
  void welcome(const std::string &name, int link);
  void receive(int link, const std::string &message);
  void lose(int link);
  bool isStuck() const;
  bool reportUnanswered();
  void leaveAtEnd(bool waits);

  Machine &machine;
  Handles<Communicator, FakeCommunicator> communicators{0x71000000};
  /// What is launched in their order is launched so by all ranks.
  std::map<IdContent::Key, Group> groups;
  std::set<int64_t> leaving; ///< threads in awaitEnd()
  Links links;
  int32_t ids = 0;
};

/// A call of the calling thread's rank: at once, or at the end of its group.
void addCall(const Request &request, const void *send, void *receive,
             Communicator handle, Stream stream);

/// Makes the calls of a group that has ended.
void flush(std::vector<GroupedCall> calls);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_LIBRARY_H
