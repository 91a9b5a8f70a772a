//===- nccl.cpp - The fake NCCL -------------------------------------------===//

#include "fake/graphs.h"
#include "fake/nccl_library.h"

#include <cstring>
#include <utility>

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
  if (result != NcclResult::success && threadGroup().depth > 0)
    threadGroup().error = result;
  return result;
}

} // namespace

NcclResult api_getVersion(int *version) {
  return callNccl(symbol_getVersion, [&](Machine &, Nccl &) {
    if (!version)
      refuseNccl(NcclResult::invalidArgument, "version is null");
    *version = 22809;
  });
}

NcclResult api_getUniqueId(CommunicatorId *id) {
  return callNccl(symbol_getUniqueId, [&](Machine &, Nccl &nccl) {
    if (!id)
      refuseNccl(NcclResult::invalidArgument, "id is null");
    IdContent content = nccl.makeId();
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
    Communicator made = nccl.join(content, ranks, rank, context);
    if (threadGroup().depth > 0)
      threadGroup().joining.push_back(made);
    else
      nccl.awaitRanks({made});
    *handle = made;
  });
}

// NCCL waits for the communicator's operations.
NcclResult api_commDestroy(Communicator handle) {
  return callNccl(symbol_commDestroy, [&](Machine &machine, Nccl &nccl) {
    checkNotCapturing(symbol_commDestroy);
    FakeCommunicator communicator = nccl.at(handle);
    LocalRank &local = *communicator.member().local;
    local.owner = threadNumber();
    if (local.last && !local.context->error && !local.context->isReleased)
      machine.synchronize(*local.context, {local.last});
    nccl.awaitGraphs(communicator, symbol_commDestroy);
    nccl.leave(handle, Presence::destroyed);
  });
}

// What the communicator has in flight is told to end at once. In a group NCCL
// waits at its end, when all communicators of the group are told.
NcclResult api_commAbort(Communicator handle) {
  return callNccl(symbol_commAbort, [&](Machine &machine, Nccl &nccl) {
    FakeCommunicator communicator = nccl.at(handle);
    communicator.member().local->owner = threadNumber();
    nccl.leave(handle, Presence::aborted);
    if (threadGroup().depth > 0 &&
        !machine.isPlanted(Plant::Kind::loneAborts, 1))
      threadGroup().aborted.push_back(communicator);
    else
      nccl.awaitEnd({communicator}, symbol_commAbort);
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
  return callNccl(symbol_allReduce, [&](Machine &, Nccl &) {
    addCall({Request::Kind::allReduce, type, reduction, -1, count}, send,
            receive, communicator, stream);
  });
}

NcclResult api_reduceScatter(const void *send, void *receive, size_t count,
                             NcclType type, NcclReduction reduction,
                             Communicator communicator, Stream stream) {
  return callNccl(symbol_reduceScatter, [&](Machine &, Nccl &) {
    addCall({Request::Kind::reduceScatter, type, reduction, -1, count}, send,
            receive, communicator, stream);
  });
}

NcclResult api_allGather(const void *send, void *receive, size_t count,
                         NcclType type, Communicator communicator,
                         Stream stream) {
  return callNccl(symbol_allGather, [&](Machine &, Nccl &) {
    addCall({Request::Kind::allGather, type, NcclReduction::sum, -1, count},
            send, receive, communicator, stream);
  });
}

NcclResult api_send(const void *send, size_t count, NcclType type, int peer,
                    Communicator communicator, Stream stream) {
  return callNccl(symbol_send, [&](Machine &, Nccl &) {
    addCall({Request::Kind::send, type, NcclReduction::sum, peer, count}, send,
            nullptr, communicator, stream);
  });
}

NcclResult api_receive(void *receive, size_t count, NcclType type, int peer,
                       Communicator communicator, Stream stream) {
  return callNccl(symbol_receive, [&](Machine &, Nccl &) {
    addCall({Request::Kind::receive, type, NcclReduction::sum, peer, count},
            nullptr, receive, communicator, stream);
  });
}

NcclResult api_groupStart() {
  return callNccl(symbol_groupStart,
                  [&](Machine &, Nccl &) { ++threadGroup().depth; });
}

// If a call of the group has failed, none of them is made.
NcclResult api_groupEnd() {
  return callNccl(symbol_groupEnd, [&](Machine &, Nccl &nccl) {
    ThreadGroup &own = threadGroup();
    if (own.depth == 0)
      refuseNccl(NcclResult::invalidUsage, "no group has begun");
    if (--own.depth > 0)
      return;
    ThreadGroup group = std::exchange(own, {});
    nccl.awaitEnd(group.aborted, symbol_commAbort);
    if (group.error != NcclResult::success)
      throw NcclFailure{group.error, ""};
    nccl.awaitRanks(group.joining);
    flush(std::move(group.calls));
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
