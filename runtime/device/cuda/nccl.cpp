//===- nccl.cpp - Communication of GPUs by NCCL ---------------------------===//

#include "device/cuda/nccl.h"

#include "base/error.h"
#include "device/cuda/library.h"
#include "ppopt/byte_amount.h"
#include "ppopt/nccl_memory.h"

#include <algorithm>
#include <cstdlib>

namespace ppopt::cuda {
namespace {

using device::DevicePointer;
using geometry::Collective;
using runtime::Error;

NcclType typeOf(comm::ElementType type) {
  switch (type) {
  case comm::ElementType::F32:
    return NcclType::f32;
  case comm::ElementType::F64:
    return NcclType::f64;
  case comm::ElementType::BF16:
    return NcclType::bf16;
  case comm::ElementType::I32:
    return NcclType::i32;
  case comm::ElementType::I64:
    return NcclType::i64;
  }
  return NcclType::f32;
}

} // namespace

Nccl::Nccl(const Gpu &gpu, FindStream findStream, DestroyGraphs destroyGraphs)
    : gpu(gpu), api(loadNccl()), findStream(std::move(findStream)),
      destroyGraphs(std::move(destroyGraphs)) {}

Nccl::~Nccl() {
  for (Joined &each : communicators)
    api.commDestroy(each.handle);
}

void Nccl::check(NcclResult result, const std::string &what,
                 Communicator communicator) const {
  if (result == NcclResult::success)
    return;
  const char *last = api.getLastError(communicator);
  throw Error("{}: {}: NCCL: {} ({}){}{}", gpu.describe(), what,
              api.getErrorString(result), int(result),
              last && *last ? ": " : "", last ? last : "");
}

std::string Nccl::describe() const {
  int version = 0;
  check(api.getVersion(&version), "its version");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

void Nccl::requireMemory(int64_t communicators) {
  gpu.enter();
  int64_t channels = ncclChannels;
  if (const char *most = std::getenv("NCCL_MAX_NCHANNELS"))
    if (int64_t number = std::atoll(most); number > 0)
      channels = std::min(channels, number);
  int64_t bytes = communicators * channels * ncclChannelBytes,
          free = gpu.freeBytes();
  if (bytes > free)
    throw Error("{} has {} free beside the arena, and the buffers of NCCL take "
                "about {} ({} communicator{} of {} channels): end what else "
                "runs there, use more microbatches or --zero, allow NCCL fewer "
                "channels by NCCL_MAX_NCHANNELS, or let data pass through the "
                "host with --collectives=ring",
                gpu.describe(), spellByteAmount(free), spellByteAmount(bytes),
                communicators, communicators == 1 ? "" : "s", channels);
}

device::CommunicatorId Nccl::makeId() {
  gpu.enter();
  CommunicatorId id{};
  check(api.getUniqueId(&id), "making an id for a communicator");
  device::CommunicatorId bytes{};
  static_assert(sizeof bytes == sizeof id.bytes);
  std::copy_n(id.bytes, bytes.size(), bytes.begin());
  return bytes;
}

int Nccl::join(const device::CommunicatorId &id, int ranks, int rank) {
  gpu.enter();
  CommunicatorId own{};
  std::copy_n(id.begin(), id.size(), own.bytes);
  Joined joined;
  joined.ranks = ranks;
  check(api.commInitRank(&joined.handle, ranks, own, rank),
        fmt::format("joining {} ranks", ranks));
  communicators.push_back(joined);
  return int(communicators.size()) - 1;
}

/// An all-to-all: a send to each rank and a receive from each, itself too.
void Nccl::exchange(const Joined &joined, Stream on, DevicePointer in,
                    DevicePointer out, int64_t chunkBytes) {
  check(api.groupStart(), "an all-to-all", joined.handle);
  for (int peer = 0; peer < joined.ranks; ++peer) {
    int64_t at = peer * chunkBytes;
    check(api.send((in + at).opaque(), size_t(chunkBytes), NcclType::bytes,
                   peer, joined.handle, on),
          fmt::format("a send to rank {}", peer), joined.handle);
    check(api.receive((out + at).opaque(), size_t(chunkBytes), NcclType::bytes,
                      peer, joined.handle, on),
          fmt::format("a receive from rank {}", peer), joined.handle);
  }
  check(api.groupEnd(), "an all-to-all", joined.handle);
}

void Nccl::collective(device::Stream stream, int communicator, Collective kind,
                      comm::ElementType type, DevicePointer in,
                      DevicePointer out, int64_t elements) {
  gpu.enter();
  const Joined &joined = communicators[size_t(communicator)];
  Stream on = findStream(stream);
  NcclType as = typeOf(type);
  NcclResult result = NcclResult::invalidArgument;
  switch (kind) {
  case Collective::AllReduce:
    result = api.allReduce(in.opaque(), out.opaque(), size_t(elements), as,
                           NcclReduction::sum, joined.handle, on);
    break;
  case Collective::AllReduceMax:
    result = api.allReduce(in.opaque(), out.opaque(), size_t(elements), as,
                           NcclReduction::max, joined.handle, on);
    break;
  case Collective::AllToAll:
    return exchange(joined, on, in, out,
                    elements / joined.ranks * int64_t(comm::sizeOf(type)));
  case Collective::AllGather:
    result =
        api.allGather(in.opaque(), out.opaque(),
                      size_t(elements / joined.ranks), as, joined.handle, on);
    break;
  case Collective::ReduceScatter:
    result = api.reduceScatter(in.opaque(), out.opaque(),
                               size_t(elements / joined.ranks), as,
                               NcclReduction::sum, joined.handle, on);
    break;
  case Collective::Broadcast:
    throw Error("program: a broadcast, which no step has on GPUs");
  }
  check(result, geometry::nounOf(kind), joined.handle);
}

void Nccl::send(device::Stream stream, int communicator, int peer,
                DevicePointer data, int64_t bytes) {
  gpu.enter();
  Communicator handle = communicators[size_t(communicator)].handle;
  check(api.send(data.opaque(), size_t(bytes), NcclType::bytes, peer, handle,
                 findStream(stream)),
        fmt::format("a send to rank {}", peer), handle);
}

void Nccl::receive(device::Stream stream, int communicator, int peer,
                   DevicePointer data, int64_t bytes) {
  gpu.enter();
  Communicator handle = communicators[size_t(communicator)].handle;
  check(api.receive(data.opaque(), size_t(bytes), NcclType::bytes, peer, handle,
                    findStream(stream)),
        fmt::format("a receive from rank {}", peer), handle);
}

void Nccl::throwIfFailed() {
  for (const Joined &each : communicators) {
    NcclResult error = NcclResult::success;
    check(api.commGetAsyncError(each.handle, &error), "asking for errors",
          each.handle);
    if (error != NcclResult::inProgress)
      check(error, "communication with other ranks", each.handle);
  }
}

// NCCL waits for the last operation of a communicator, which may come after
// those of another one in our stream, and then until no graph has operations of
// the communicator. In a group it first tells all communicators to end.
void Nccl::abort() noexcept {
  destroyGraphs();
  api.groupStart();
  for (const Joined &each : communicators)
    api.commAbort(each.handle);
  api.groupEnd();
  communicators.clear();
}

} // namespace ppopt::cuda
