//===- nccl_calls.cpp - Collectives, transfers and their groups -----------===//

#include "fake/nccl_library.h"

#include <algorithm>
#include <utility>

namespace ppopt::cuda::fake {
namespace {

/// Calls that a plant lets wait for the next ones.
thread_local std::vector<GroupedCall> heldBack;

FakeStream &streamOf(const GroupedCall &call) {
  return Machine::get().streams.at(call.stream, "stream");
}

/// Refuses calls that may not be in one group.
void checkGroup(const std::vector<GroupedCall> &calls) {
  const FakeStream &first = streamOf(calls.front());
  std::map<std::pair<RankGroup *, int>, std::pair<int64_t, int64_t>> toSelf;
  for (const GroupedCall &call : calls) {
    const Request &request = call.part.request;
    const FakeStream &stream = streamOf(call);
    if (stream.capture != first.capture)
      refuseNccl(NcclResult::invalidUsage,
                 "the streams of a group are all captured in one graph, or "
                 "none is: {} and {} differ",
                 first.name(), stream.name());
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
void connect(const std::vector<GroupedCall> &calls) {
  Machine &machine = Machine::get();
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
    Nccl::get().checkUsable(group);
    if (call.communicator.member().presence != Presence::active)
      throw NcclFailure{NcclResult::internalError, ""}; // aborted meanwhile
  }
}

} // namespace

void Nccl::launchAll(const std::vector<GroupedCall> &calls) {
  for (const auto &[key, group] : groups)
    for (int rank = 0; group.ranks && rank < group.ranks->size(); ++rank)
      for (bool isTransfer : {false, true}) {
        std::vector<Part> parts;
        std::vector<FakeStream *> streams;
        for (const GroupedCall &call : calls) {
          if (call.communicator.group != group.ranks.get() ||
              call.communicator.rank != rank)
            continue;
          FakeStream *stream = &streamOf(call);
          if (std::find(streams.begin(), streams.end(), stream) ==
              streams.end())
            streams.push_back(stream);
          if (call.part.request.isTransfer() == isTransfer)
            parts.push_back(call.part);
        }
        if (parts.empty())
          continue;
        launch(*group.ranks, rank, std::move(parts), streams);
        checkUsable(*group.ranks);
      }
}

void flush(std::vector<GroupedCall> calls) {
  if (calls.empty())
    return;
  Nccl &nccl = Nccl::get();
  checkGroup(calls);
  FakeGpu &gpu = *calls.front().communicator.member().local->context->gpu;
  if (Machine::get().isPlanted(Plant::Kind::swapNccl, ++gpu.ncclCalls,
                               gpu.number)) {
    heldBack = std::move(calls);
    nccl.holdsBack = true;
    return;
  }
  connect(calls);
  nccl.launchAll(calls);
  if (heldBack.empty())
    return;
  calls = std::exchange(heldBack, {});
  nccl.holdsBack = false;
  connect(calls);
  nccl.launchAll(calls);
}

void addCall(const Request &request, const void *send, void *receive,
             Communicator handle, Stream stream) {
  Machine &machine = Machine::get();
  Nccl &nccl = Nccl::get();
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
  machine.stream(stream);
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
  nccl.checkUsable(group);
  Part part = makePart(group, rank, request, send, receive);
  local.owner = threadNumber();
  // NCCL leaves collectives out that have nothing to do.
  if (request.count == 0 && !request.isTransfer())
    return;
  ThreadGroup &own = threadGroup();
  own.calls.push_back({communicator, stream, std::move(part)});
  if (own.depth == 0)
    flush(std::exchange(own.calls, {}));
}

} // namespace ppopt::cuda::fake
