//===- nccl.cpp - The fake NCCL -------------------------------------------===//

#include "fake/graphs.h"
#include "fake/nccl_launch.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unistd.h>

namespace ppopt::cuda::fake {

#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  extern "C" PPOPT_FAKE_EXPORT NcclResult api_##NAME(__VA_ARGS__) __asm__(     \
      SYMBOL);                                                                 \
  static constexpr const char *symbol_##NAME = SYMBOL;
PPOPT_NCCL(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
extern "C" PPOPT_FAKE_EXPORT const char *
api_getErrorString(NcclResult result) __asm__("ncclGetErrorString");
extern "C" PPOPT_FAKE_EXPORT const char *
api_getLastError(Communicator communicator) __asm__("ncclGetLastError");

namespace {

/// What a communicator's id says.
struct IdContent {
  uint64_t magic = 0x6c63636e70706f; ///< "oppnccl"
  uint64_t token = 0;
  int32_t process = 0, number = 0;

  std::tuple<uint64_t, int32_t, int32_t> key() const {
    return {token, process, number};
  }
};
static_assert(sizeof(IdContent) <= sizeof(CommunicatorId));

/// A rank's communicator.
struct FakeCommunicator {
  RankGroup *group = nullptr;
  int rank = 0;
  bool isReady = false;

  Member &member() const { return group->members[rank]; }
};

struct Nccl {
  Handles<Communicator, FakeCommunicator> communicators{0x71000000};
  /// By id. What is launched in their order is launched so on all ranks.
  std::map<std::tuple<uint64_t, int32_t, int32_t>, std::unique_ptr<RankGroup>>
      groups;
  int32_t ids = 0;
  int64_t launches = 0;   ///< calls outside of groups, and groups with calls
  bool holdsBack = false; ///< some thread has heldBack
  std::string lastError;

  static Nccl &get();
  bool isStuck() const;
  bool checkAtEnd(int status);
  FakeCommunicator &at(Communicator handle);
};

/// A call that the end of the group adds to its stream.
struct GroupedCall {
  FakeCommunicator communicator;
  FakeStream *stream = nullptr;
  Part part;
};

/// What a thread has called since it began a group.
struct Group {
  int depth = 0;
  NcclResult error = NcclResult::success;
  std::vector<Communicator> joining;
  std::vector<GroupedCall> calls;
};
thread_local Group currentGroup;
/// Calls that a plant lets wait for the next ones.
thread_local std::vector<GroupedCall> heldBack;

Nccl &Nccl::get() {
  static Nccl *nccl = [] {
    auto *made = new Nccl;
    Machine &machine = Machine::get();
    machine.isStuck = [made] { return made->isStuck(); };
    machine.atEnd.push_back(
        [made](int status) { return made->checkAtEnd(status); });
    return made;
  }();
  return *nccl;
}

/// Whether the threads of all ranks wait. A thread that has not called yet, or
/// another process, may change something.
bool Nccl::isStuck() const {
  const auto &waiting = Machine::get().waiting;
  bool isAny = false;
  for (const auto &[key, group] : groups)
    for (const Member &member : group->members) {
      if (group->failure || member.presence != Presence::active)
        continue;
      if (!member.local || !waiting.count(member.local->owner))
        return false;
      isAny = true;
    }
  return isAny;
}

bool Nccl::checkAtEnd(int status) {
  bool isRight = true;
  Machine::get().deliver([&] {
    if (status == 0 && holdsBack) {
      Machine::get().say("no call of its thread came after the one that "
                         "swap-nccl holds back");
      isRight = false;
    }
    for (const auto &[key, group] : groups) {
      if (status != 0 || group->failure)
        continue;
      for (const std::string &line : group->describeUnanswered()) {
        Machine::get().say("at the end of the process, " + line);
        isRight = false;
      }
    }
  });
  return isRight;
}

FakeCommunicator &Nccl::at(Communicator handle) {
  if (!communicators.objects.count(handle))
    refuseNccl(NcclResult::invalidArgument,
               "{} is no communicator, or one that is destroyed",
               static_cast<const void *>(handle));
  return communicators.at(handle, "communicator");
}

/// Runs the body of a call. In a group its error is that of the group, too.
template <typename Body>
NcclResult callNccl(const char *symbol, const Body &body) {
  Machine &machine = Machine::get();
  auto result = NcclResult(machine.call(symbol, [&] {
    Nccl &nccl = Nccl::get();
    try {
      try {
        body(machine, nccl);
      } catch (const Failure &failure) {
        bool isOfCall = failure.code == int(DriverResult::invalidValue) ||
                        failure.code == int(DriverResult::invalidHandle);
        throw NcclFailure{isOfCall ? NcclResult::invalidArgument
                                   : NcclResult::unhandledCudaError,
                          failure.message};
      }
    } catch (const NcclFailure &failure) {
      if (!failure.message.empty())
        nccl.lastError = fmt::format("{}: {}", symbol, failure.message);
      throw Failure{int(failure.result), failure.message};
    }
  }));
  if (result != NcclResult::success && currentGroup.depth > 0)
    currentGroup.error = result;
  return result;
}

/// Refuses what is no longer of use. The message was printed.
void checkFailure(Nccl &nccl, const RankGroup &group) {
  if (!group.failure)
    return;
  nccl.lastError = group.failure->message;
  throw NcclFailure{group.failure->result, ""};
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// Waits until all ranks have joined.
void awaitRanks(Machine &machine, Nccl &nccl,
                const std::vector<Communicator> &joining) {
  auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(machine.settings.patience));
  auto deadline = std::chrono::steady_clock::now() + patience;
  for (Communicator handle : joining) {
    FakeCommunicator &communicator = nccl.at(handle);
    RankGroup &group = *communicator.group;
    while (!group.failure && !group.isComplete())
      if (!machine.waitUntil(deadline))
        group.breakDown(
            NcclResult::systemError,
            fmt::format("{}: rank {} has waited for {} seconds, and "
                        "these ranks have not called "
                        "ncclCommInitRank: {}",
                        group.name, communicator.rank,
                        machine.settings.patience, group.describeAbsent()));
    checkFailure(nccl, group);
    communicator.isReady = true;
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Refuses calls that may not be in one group.
void checkGroup(const std::vector<GroupedCall> &calls) {
  std::map<std::pair<RankGroup *, int>, std::pair<int64_t, int64_t>> toSelf;
  for (const GroupedCall &call : calls) {
    const Request &request = call.part.request;
    if (call.stream->capture != calls.front().stream->capture)
      refuseNccl(NcclResult::invalidUsage,
                 "the streams of a group are all captured in one graph, or "
                 "none is: {} and {} differ",
                 calls.front().stream->name(), call.stream->name());
    if (request.peer == call.communicator.rank) {
      auto &[sends, receives] = toSelf[{call.communicator.group, request.peer}];
      ++(request.kind == Request::Kind::send ? sends : receives);
    }
    for (const GroupedCall &other : calls)
      if (&other != &call && (call.part.received.overlaps(other.part.sent) ||
                              call.part.received.overlaps(other.part.received)))
        refuseNccl(NcclResult::invalidUsage,
                   "{} receives what {} of the same group sends or receives: "
                   "their order is not known",
                   request.describe(), other.part.request.describe());
  }
  for (const auto &[rank, count] : toSelf)
    if (count.first != count.second)
      refuseNccl(NcclResult::invalidUsage,
                 "{} sends {} times to itself in a group, and receives {} "
                 "times",
                 rank.first->describe(rank.second), count.first, count.second);
}

/// Waits until all ranks have called that a rank calls for the first time.
void connect(Machine &machine, Nccl &nccl,
             const std::vector<GroupedCall> &calls) {
  for (const GroupedCall &call : calls)
    call.communicator.group->announce(call.communicator.rank,
                                      call.part.request);
  machine.notify();
  for (const GroupedCall &call : calls) {
    RankGroup &group = *call.communicator.group;
    int rank = call.communicator.rank;
    while (machine.settings.connectsLate && !group.failure &&
           call.communicator.member().presence == Presence::active &&
           !group.isConnected(rank, call.part.request))
      machine.wait(fmt::format(
          "{} waits on the host, in the first {}, until its peers call theirs",
          group.describe(rank), call.part.request.describe()));
    checkFailure(nccl, group);
    if (call.communicator.member().presence != Presence::active)
      throw NcclFailure{NcclResult::internalError, ""}; // aborted meanwhile
  }
}

/// Adds calls to their streams. Those of one communicator start together, the
/// collectives before the transfers.
void launchAll(Nccl &nccl, const std::vector<GroupedCall> &calls) {
  for (const auto &[key, group] : nccl.groups)
    for (int rank = 0; rank < group->size(); ++rank)
      for (bool isTransfer : {false, true}) {
        std::vector<Part> parts;
        std::vector<FakeStream *> streams;
        for (const GroupedCall &call : calls) {
          if (call.communicator.group != group.get() ||
              call.communicator.rank != rank)
            continue;
          if (std::find(streams.begin(), streams.end(), call.stream) ==
              streams.end())
            streams.push_back(call.stream);
          if (call.part.request.isTransfer() == isTransfer)
            parts.push_back(call.part);
        }
        if (parts.empty())
          continue;
        launch(*group, rank, std::move(parts), streams);
        checkFailure(nccl, *group);
      }
}

void flush(Machine &machine, Nccl &nccl, std::vector<GroupedCall> calls) {
  if (calls.empty())
    return;
  checkGroup(calls);
  if (machine.isPlanted(Plant::Kind::swapNccl, ++nccl.launches)) {
    heldBack = std::move(calls);
    nccl.holdsBack = true;
    return;
  }
  connect(machine, nccl, calls);
  launchAll(nccl, calls);
  if (!heldBack.empty()) {
    calls = std::exchange(heldBack, {});
    nccl.holdsBack = false;
    connect(machine, nccl, calls);
    launchAll(nccl, calls);
  }
}

/// Of a rank that is current in this thread.
void addCall(Machine &machine, Nccl &nccl, Request request, const void *send,
             void *receive, Communicator handle, Stream streamHandle) {
  FakeCommunicator &communicator = nccl.at(handle);
  RankGroup &group = *communicator.group;
  int rank = communicator.rank;
  FakeContext &context = machine.working();
  LocalRank &local = *communicator.member().local;
  if (!communicator.isReady)
    refuseNccl(NcclResult::invalidUsage,
               "{} is used before the group that makes it has ended",
               group.describe(rank));
  if (local.context != &context)
    refuseNccl(NcclResult::invalidUsage,
               "{} is used while the context of {} is current",
               group.describe(rank), context.name());
  FakeStream &stream = machine.stream(streamHandle);
  if (bytesOf(request.type) == 0 || !isKnown(request.reduction))
    refuseNccl(NcclResult::invalidArgument,
               "type {} or reduction {} is none that is here",
               int(request.type), int(request.reduction));
  if (request.isTransfer() &&
      (request.peer < 0 || request.peer >= group.size()))
    refuseNccl(NcclResult::invalidArgument, "{} has no rank {}", group.name,
               request.peer);
  if (request.count > size_t(-1) / 16 / size_t(group.size()))
    refuseNccl(NcclResult::invalidArgument, "a count of {}", request.count);
  checkFailure(nccl, group);
  Part part = makePart(group, rank, request, send, receive);
  local.owner = threadNumber();
  // NCCL leaves collectives out that have nothing to do.
  if (request.count == 0 && !request.isTransfer())
    return;
  currentGroup.calls.push_back({communicator, &stream, std::move(part)});
  if (currentGroup.depth == 0)
    flush(machine, nccl, std::exchange(currentGroup.calls, {}));
}

/// Takes a rank out of its communicator. Refuses this if others wait for it.
void leave(Nccl &nccl, Communicator handle, Presence how) {
  FakeCommunicator communicator = nccl.at(handle);
  RankGroup &group = *communicator.group;
  nccl.communicators.remove(handle, "communicator");
  bool wasUsable = !group.failure;
  group.leave(communicator.rank, how);
  Machine::get().notify();
  if (wasUsable)
    checkFailure(nccl, group);
}

} // namespace

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

NcclResult api_getVersion(int *version) {
  return callNccl(symbol_getVersion, [&](Machine &, Nccl &) {
    if (!version)
      refuseNccl(NcclResult::invalidArgument, "version is null");
    *version = 22809;
  });
}

NcclResult api_getUniqueId(CommunicatorId *id) {
  return callNccl(symbol_getUniqueId, [&](Machine &machine, Nccl &nccl) {
    if (!id)
      refuseNccl(NcclResult::invalidArgument, "id is null");
    IdContent content;
    content.token = machine.operations.random();
    content.process = getpid();
    content.number = ++nccl.ids;
    *id = {};
    std::memcpy(id->bytes, &content, sizeof content);
  });
}

NcclResult api_commInitRank(Communicator *handle, int ranks, CommunicatorId id,
                            int rank) {
  return callNccl(symbol_commInitRank, [&](Machine &machine, Nccl &nccl) {
    if (!handle)
      refuseNccl(NcclResult::invalidArgument, "communicator is null");
    *handle = nullptr;
    FakeContext &context = machine.working();
    checkNotCapturing(symbol_commInitRank);
    IdContent content;
    std::memcpy(&content, id.bytes, sizeof content);
    if (content.magic != IdContent().magic)
      refuseNccl(NcclResult::invalidArgument,
                 "the id is none that ncclGetUniqueId made");
    if (ranks < 1 || rank < 0 || rank >= ranks)
      refuseNccl(NcclResult::invalidArgument, "rank {} of {}", rank, ranks);
    std::unique_ptr<RankGroup> &group = nccl.groups[content.key()];
    if (!group)
      group = std::make_unique<RankGroup>(
          fmt::format("communicator {}", content.number), ranks);
    if (group->isComplete())
      refuseNccl(NcclResult::invalidUsage,
                 "{} has all its ranks: an id is for one communicator",
                 group->name);
    Member member;
    member.gpu = context.name();
    member.uuid = context.gpu->uuidText;
    member.local = std::make_unique<LocalRank>();
    member.local->context = &context;
    member.local->owner = threadNumber();
    group->join(rank, ranks, std::move(member));
    machine.notify();
    checkFailure(nccl, *group);
    auto communicator = std::make_unique<FakeCommunicator>();
    communicator->group = group.get();
    communicator->rank = rank;
    Communicator made = nccl.communicators.add(std::move(communicator));
    if (currentGroup.depth > 0)
      currentGroup.joining.push_back(made);
    else
      awaitRanks(machine, nccl, {made});
    *handle = made;
  });
}

// NCCL waits for the communicator's operations.
NcclResult api_commDestroy(Communicator handle) {
  return callNccl(symbol_commDestroy, [&](Machine &machine, Nccl &nccl) {
    checkNotCapturing(symbol_commDestroy);
    LocalRank &local = *nccl.at(handle).member().local;
    local.owner = threadNumber();
    if (local.last && !local.context->error && !local.context->isReleased)
      machine.synchronize(*local.context, {local.last});
    leave(nccl, handle, Presence::destroyed);
  });
}

NcclResult api_commAbort(Communicator handle) {
  return callNccl(symbol_commAbort, [&](Machine &, Nccl &nccl) {
    leave(nccl, handle, Presence::aborted);
  });
}

NcclResult api_commGetAsyncError(Communicator handle, NcclResult *error) {
  return callNccl(symbol_commGetAsyncError, [&](Machine &, Nccl &nccl) {
    if (!error)
      refuseNccl(NcclResult::invalidArgument, "error is null");
    FakeCommunicator &communicator = nccl.at(handle);
    const RankGroup &group = *communicator.group;
    *error = group.failure          ? group.failure->result
             : communicator.isReady ? NcclResult::success
                                    : NcclResult::inProgress;
  });
}

NcclResult api_allReduce(const void *send, void *receive, size_t count,
                         NcclType type, NcclReduction reduction,
                         Communicator communicator, Stream stream) {
  return callNccl(symbol_allReduce, [&](Machine &machine, Nccl &nccl) {
    addCall(machine, nccl,
            {Request::Kind::allReduce, type, reduction, -1, count}, send,
            receive, communicator, stream);
  });
}

NcclResult api_reduceScatter(const void *send, void *receive, size_t count,
                             NcclType type, NcclReduction reduction,
                             Communicator communicator, Stream stream) {
  return callNccl(symbol_reduceScatter, [&](Machine &machine, Nccl &nccl) {
    addCall(machine, nccl,
            {Request::Kind::reduceScatter, type, reduction, -1, count}, send,
            receive, communicator, stream);
  });
}

NcclResult api_allGather(const void *send, void *receive, size_t count,
                         NcclType type, Communicator communicator,
                         Stream stream) {
  return callNccl(symbol_allGather, [&](Machine &machine, Nccl &nccl) {
    addCall(machine, nccl,
            {Request::Kind::allGather, type, NcclReduction::sum, -1, count},
            send, receive, communicator, stream);
  });
}

NcclResult api_send(const void *send, size_t count, NcclType type, int peer,
                    Communicator communicator, Stream stream) {
  return callNccl(symbol_send, [&](Machine &machine, Nccl &nccl) {
    addCall(machine, nccl,
            {Request::Kind::send, type, NcclReduction::sum, peer, count}, send,
            nullptr, communicator, stream);
  });
}

NcclResult api_receive(void *receive, size_t count, NcclType type, int peer,
                       Communicator communicator, Stream stream) {
  return callNccl(symbol_receive, [&](Machine &machine, Nccl &nccl) {
    addCall(machine, nccl,
            {Request::Kind::receive, type, NcclReduction::sum, peer, count},
            nullptr, receive, communicator, stream);
  });
}

NcclResult api_groupStart() {
  return callNccl(symbol_groupStart,
                  [&](Machine &, Nccl &) { ++currentGroup.depth; });
}

// If a call of the group has failed, none of them is made.
NcclResult api_groupEnd() {
  return callNccl(symbol_groupEnd, [&](Machine &machine, Nccl &nccl) {
    if (currentGroup.depth == 0)
      refuseNccl(NcclResult::invalidUsage, "no group has begun");
    if (--currentGroup.depth > 0)
      return;
    Group group = std::exchange(currentGroup, {});
    if (group.error != NcclResult::success)
      throw NcclFailure{group.error, ""};
    awaitRanks(machine, nccl, group.joining);
    flush(machine, nccl, std::move(group.calls));
  });
}

const char *api_getErrorString(NcclResult result) {
  switch (result) {
  case NcclResult::success:
    return "no error";
  case NcclResult::unhandledCudaError:
    return "unhandled cuda error";
  case NcclResult::systemError:
    return "unhandled system error";
  case NcclResult::internalError:
    return "internal error";
  case NcclResult::invalidArgument:
    return "invalid argument";
  case NcclResult::invalidUsage:
    return "invalid usage";
  case NcclResult::remoteError:
    return "remote process exited or there was a network error";
  case NcclResult::inProgress:
    return "NCCL operation in progress";
  }
  return "unknown result code";
}

// It stays valid until the next error.
const char *api_getLastError(Communicator) {
  const char *text = "";
  Machine::get().deliver([&] { text = Nccl::get().lastError.c_str(); });
  return text;
}

} // namespace ppopt::cuda::fake
