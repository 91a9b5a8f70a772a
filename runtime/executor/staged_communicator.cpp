//===- staged_communicator.cpp - Operations on host memory ----------------===//

#include "executor/staged_communicator.h"

#include <algorithm>

namespace ppopt::runtime {

using device::DevicePointer;
using geometry::Collective;
using Clock = std::chrono::steady_clock;

StagedCommunicator::StagedCommunicator(const CommunicatorSettings &settings)
    : mesh(settings.program.plan.getMesh()), device(settings.device),
      compute(settings.compute), out(device.makeStream("copies out")),
      in(device.makeStream("copies in")), received(device.makeEvent()),
      sharesMemory(device.hostView(settings.memory) != nullptr) {}

StagedCommunicator::Operation &StagedCommunicator::add() {
  operations.emplace_back().ready = device.makeEvent();
  return operations.back();
}

/// Adds an operation on memory of the device. Returns its buffer.
void *StagedCommunicator::stage(void *data, int64_t bytes, bool sends,
                                bool receives) {
  DevicePointer at(data);
  char *view = device.hostView(at);
  char *host = view ? view : device.allocateHost(bytes);
  Operation &added = add();
  added.sent = {at, host, sends ? bytes : 0};
  added.received = {at, host, receives ? bytes : 0};
  return host;
}

/// Adds an operation whose starts give the memory.
void StagedCommunicator::addToSlot(const CollectivePart &part) {
  geometry::Members members = mesh.members(part.group, part.rank);
  auto size = int64_t(comm::sizeOf(part.type));
  int64_t n = members.size(), position = members.position;
  Operation &added = add();
  added.kind = part.kind;
  added.slot = size_t(part.slot);
  added.bytes = part.elements * size;
  added.chunkAt = geometry::chunkBegin(part.elements, n, position) * size;
  added.chunkBytes = geometry::chunkSize(part.elements, n, position) * size;
  slots.resize(std::max(slots.size(), added.slot + 1));
  Slot &slot = slots[added.slot];
  int64_t scratch = geometry::scratchElements(part.kind, part.elements, n);
  slot.wholeBytes = std::max(slot.wholeBytes, added.bytes);
  slot.scratchBytes = std::max(slot.scratchBytes, scratch * size);
}

int StagedCommunicator::define(const CollectivePart &part) {
  CollectivePart onHost = part;
  if (part.data) {
    auto size = int64_t(comm::sizeOf(part.type));
    onHost.data = stage(part.data, part.elements * size, /*sends=*/true,
                        /*receives=*/true);
    char *view = device.hostView(DevicePointer(part.scratch));
    onHost.scratch = view || part.scratchBytes == 0
                         ? view
                         : device.allocateHost(int64_t(part.scratchBytes));
  } else {
    addToSlot(part);
  }
  return defineOnHost(onHost);
}

int StagedCommunicator::define(const TransferEnd &end) {
  TransferEnd onHost = end;
  onHost.data = stage(end.data, int64_t(end.bytes), end.sends, !end.sends);
  return defineOnHost(onHost);
}

void StagedCommunicator::open(int) {
  if (sharesMemory)
    return;
  for (Slot &slot : slots) {
    slot.whole = device.allocateHost(slot.wholeBytes);
    slot.scratch = device.allocateHost(slot.scratchBytes);
  }
}

std::optional<int64_t> StagedCommunicator::start(int number) {
  copyOut(operations[size_t(number)]);
  return startOnHost(number);
}

Copied StagedCommunicator::start(int number, DevicePointer from,
                                 DevicePointer to, DevicePointer scratch) {
  Operation &operation = operations[size_t(number)];
  const Slot &slot = slots[operation.slot];
  bool gathers = operation.kind == Collective::AllGather,
       scatters = operation.kind == Collective::ReduceScatter;
  auto hostOf = [&](char *host, DevicePointer memory) {
    return host || !memory ? host : device.hostView(memory);
  };
  char *whole = hostOf(slot.whole, scatters ? from : to);
  operation.sent = {from, whole, operation.bytes};
  operation.received = {to, whole, operation.bytes};
  if (gathers)
    operation.sent = {from, whole + operation.chunkAt, operation.chunkBytes};
  if (scatters)
    operation.received = {to, whole + operation.chunkAt, operation.chunkBytes};
  Copied copied = copyOut(operation);
  startOnHost(number, whole, hostOf(slot.scratch, scatters ? to : scratch));
  return copied;
}

Copied StagedCommunicator::wait(int number) {
  waitOnHost(number);
  return copyIn(operations[size_t(number)]);
}

void StagedCommunicator::waitForAll() {
  for (size_t number = 0; number < operations.size(); ++number)
    if (isStarted(int(number)))
      wait(int(number));
}

bool StagedCommunicator::isShared(const Part &part) const {
  return part.bytes > 0 && device.hostView(part.data) == part.host;
}

Copied StagedCommunicator::copyOut(const Operation &operation) {
  const Part &sent = operation.sent;
  // What is received may overwrite the memory from here on.
  device.record(operation.ready, compute);
  if (isShared(sent) || isShared(operation.received))
    device.synchronize(compute);
  if (sent.bytes == 0 || isShared(sent))
    return {};
  // Copies in of operations that have ended are complete then too: `compute`
  // has waited for them. So their host memory is free.
  Clock::time_point begin = Clock::now();
  device.wait(out, operation.ready);
  device.copyOut(out, sent.host, sent.data, sent.bytes);
  device.synchronize(out);
  return {sent.bytes, Clock::now() - begin};
}

Copied StagedCommunicator::copyIn(const Operation &operation) {
  const Part &part = operation.received;
  if (part.bytes == 0 || isShared(part))
    return {};
  Clock::time_point begin = Clock::now();
  device.wait(in, operation.ready);
  device.copyIn(in, part.data, part.host, part.bytes);
  device.record(received, in);
  device.wait(compute, received);
  return {part.bytes, Clock::now() - begin};
}

} // namespace ppopt::runtime
