//===- driver_memory.cpp - Allocations, copies and fills ------------------===//

#include "fake/driver.h"
#include "fake/graphs.h"

#include <algorithm>
#include <cstring>

namespace ppopt::cuda::fake {
namespace {

template <typename Pointer> uintptr_t addressOf(Pointer *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// Returns whether the memory is pinned; refuses what is neither this nor plain
/// memory of the host.
bool isPinned(Machine &machine, FakeContext &context, const void *memory,
              size_t bytes, const std::string &copy) {
  if (!memory)
    refuse(DriverResult::invalidValue, "the host memory of {} is null", copy);
  if (context.memory.find(addressOf(memory)))
    refuse(DriverResult::invalidValue,
           "the host memory of {} is device memory: {}", copy,
           context.memory.describe(addressOf(memory), bytes));
  bool isPart = false;
  bool isPinned = machine.pinned.holds(memory, bytes, isPart);
  if (isPart && !isPinned)
    refuse(DriverResult::invalidValue,
           "the host memory of {} goes beyond the end of pinned memory", copy);
  return isPinned;
}

/// Refuses a copy of pageable memory in a capture.
void checkPageable(FakeStream &stream, const std::string &copy) {
  if (!stream.capture)
    return;
  stream.capture->isInvalid = true;
  refuse(DriverResult::captureUnsupported,
         "{} cannot be captured: its host memory is not pinned "
         "(cuMemAllocHost)",
         copy);
}

std::string nameOf(const char *what, size_t bytes) {
  return fmt::format("{} of {} bytes", what, bytes);
}

} // namespace

DriverResult api_memGetInfo(size_t *freeBytes, size_t *totalBytes) {
  return callDriver(symbol_memGetInfo, [&](Machine &machine) {
    FakeContext &context = machine.working();
    need(freeBytes, "freeBytes");
    need(totalBytes, "totalBytes");
    *totalBytes = context.gpu->settings.memoryBytes;
    *freeBytes = *totalBytes - context.memory.used();
  });
}

DriverResult api_memAlloc(DeviceMemory *memory, size_t bytes) {
  return callDriver(symbol_memAlloc, [&](Machine &machine) {
    FakeContext &context = machine.working();
    checkNotCapturing(symbol_memAlloc);
    need(memory, "memory");
    if (bytes == 0)
      refuse(DriverResult::invalidValue, "an allocation of 0 bytes");
    if (bytes > context.gpu->settings.memoryBytes - context.memory.used())
      refuse(DriverResult::outOfMemory);
    *memory = context.memory
                  .add(std::make_unique<Allocation>(
                      fmt::format("allocation {} of {}", ++context.allocations,
                                  context.name()),
                      bytes, context.last))
                  .begin();
    size_t &most = machine.counters.mostAllocated;
    most = std::max(most, context.memory.used());
  });
}

// The driver waits for what uses the memory.
DriverResult api_memFree(DeviceMemory memory) {
  return callDriver(symbol_memFree, [&](Machine &machine) {
    FakeContext &context = machine.current();
    checkNotCapturing(symbol_memFree);
    if (memory == 0)
      return;
    Allocation *allocation = context.memory.find(memory);
    if (!allocation || allocation->begin() != memory)
      refuse(DriverResult::invalidValue,
             "no allocation begins at the address: {}",
             context.memory.describe(memory, 0));
    machine.drain(context);
    context.memory.remove(memory);
  });
}

DriverResult api_memAllocHost(void **memory, size_t bytes) {
  return callDriver(symbol_memAllocHost, [&](Machine &machine) {
    machine.working();
    checkNotCapturing(symbol_memAllocHost);
    need(memory, "memory");
    if (bytes == 0)
      refuse(DriverResult::invalidValue, "an allocation of 0 bytes");
    *memory = machine.pinned.allocate(bytes);
    Counters &counters = machine.counters;
    counters.pinned += bytes;
    counters.mostPinned = std::max(counters.mostPinned, counters.pinned);
  });
}

DriverResult api_memFreeHost(void *memory) {
  return callDriver(symbol_memFreeHost, [&](Machine &machine) {
    FakeContext &context = machine.current();
    checkNotCapturing(symbol_memFreeHost);
    size_t bytes = machine.pinned.sizeOf(memory);
    if (bytes == 0)
      refuse(DriverResult::invalidValue, "{} is not the begin of pinned memory",
             memory);
    uintptr_t begin = addressOf(memory);
    for (const OperationRef &operation : machine.operations.pending())
      for (const HostBytes &used :
           {operation->work->reads, operation->work->writes})
        if (used.bytes && addressOf(used.begin) - begin < bytes &&
            !operation->context->isReleased && !operation->context->error)
          refuse(DriverResult::invalidValue,
                 "the memory is still used by {}: synchronize first",
                 operation->describe());
    machine.drain(context);
    machine.pinned.release(memory);
    machine.counters.pinned -= bytes;
  });
}

// What comes from pageable memory is taken during the call.
DriverResult api_memcpyHtoDAsync(DeviceMemory to, const void *from,
                                 size_t bytes, Stream handle) {
  return callDriver(symbol_memcpyHtoDAsync, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(handle);
    if (bytes == 0)
      return;
    Work copy;
    copy.name = nameOf("copy in", bytes);
    char *storage =
        machine.storage(context, to, bytes, "the destination", copy.name);
    machine.counters.bytesIn += int64_t(bytes);
    if (isPinned(machine, context, from, bytes, copy.name)) {
      copy.reads = {const_cast<void *>(from), bytes};
      copy.run = [=] { std::memcpy(storage, from, bytes); };
    } else {
      checkPageable(stream, copy.name);
      auto begin = static_cast<const char *>(from);
      copy.run = [storage, staged = std::vector<char>(begin, begin + bytes)] {
        std::memcpy(storage, staged.data(), staged.size());
      };
    }
    machine.enqueue(stream, std::make_shared<Work>(std::move(copy)));
  });
}

// A copy to pageable memory is complete when the call returns.
DriverResult api_memcpyDtoHAsync(void *to, DeviceMemory from, size_t bytes,
                                 Stream handle) {
  return callDriver(symbol_memcpyDtoHAsync, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(handle);
    if (bytes == 0)
      return;
    Work copy;
    copy.name = nameOf("copy out", bytes);
    const char *storage =
        machine.storage(context, from, bytes, "the source", copy.name);
    machine.counters.bytesOut += int64_t(bytes);
    copy.run = [=] { std::memcpy(to, storage, bytes); };
    bool isDeferred = isPinned(machine, context, to, bytes, copy.name);
    if (isDeferred)
      copy.writes = {to, bytes};
    else
      checkPageable(stream, copy.name);
    machine.enqueue(stream, std::make_shared<Work>(std::move(copy)));
    if (!isDeferred)
      machine.synchronize(context, stream.tail);
  });
}

DriverResult api_memcpyDtoDAsync(DeviceMemory to, DeviceMemory from,
                                 size_t bytes, Stream handle) {
  return callDriver(symbol_memcpyDtoDAsync, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(handle);
    if (bytes == 0)
      return;
    Work copy;
    copy.name = nameOf("copy within the device", bytes);
    char *target =
        machine.storage(context, to, bytes, "the destination", copy.name);
    const char *source =
        machine.storage(context, from, bytes, "the source", copy.name);
    if (target < source + bytes && source < target + bytes)
      refuse(DriverResult::invalidValue, "source and destination of {} overlap",
             copy.name);
    machine.counters.bytesWithin += int64_t(bytes);
    copy.run = [=] { std::memcpy(target, source, bytes); };
    machine.enqueue(stream, std::make_shared<Work>(std::move(copy)));
  });
}

DriverResult api_memsetD8Async(DeviceMemory to, unsigned char value,
                               size_t bytes, Stream handle) {
  return callDriver(symbol_memsetD8Async, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(handle);
    if (bytes == 0)
      return;
    Work fill;
    fill.name = nameOf("fill", bytes);
    char *storage =
        machine.storage(context, to, bytes, "the destination", fill.name);
    fill.run = [=] { fillMemory(storage, value, bytes); };
    machine.enqueue(stream, std::make_shared<Work>(std::move(fill)));
  });
}

} // namespace ppopt::cuda::fake
