//===- staging.cpp - Host memory between a device and the transport -------===//

#include "executor/staging.h"

namespace ppopt::runtime {

using device::DevicePointer;

Staging::Staging(device::Device &device, device::Stream compute)
    : device(device), compute(compute), out(device.makeStream("copies out")),
      in(device.makeStream("copies in")), received(device.makeEvent()) {}

void *Staging::add(DevicePointer data, int64_t bytes, bool sends,
                   bool receives) {
  char *view = device.hostView(data);
  char *host = view ? view : device.allocateHost(bytes);
  add();
  operations.back().sent = {data, host, sends ? bytes : 0};
  operations.back().received = {data, host, receives ? bytes : 0};
  return host;
}

void Staging::add() { operations.push_back({{}, {}, device.makeEvent()}); }

void *Staging::addScratch(DevicePointer data, int64_t bytes) {
  char *view = device.hostView(data);
  return view || bytes == 0 ? view : device.allocateHost(bytes);
}

bool Staging::isShared(const Part &part) const {
  return part.bytes > 0 && device.hostView(part.data) == part.host;
}

int64_t Staging::start(int number, const Part &sent, const Part &received) {
  operations[number].sent = sent;
  operations[number].received = received;
  return start(number);
}

int64_t Staging::start(int number) {
  const Operation &operation = operations[number];
  const Part &sent = operation.sent;
  // What is received may overwrite the memory from here on.
  device.record(operation.ready, compute);
  if (isShared(sent) || isShared(operation.received))
    device.synchronize(compute);
  if (sent.bytes == 0 || isShared(sent))
    return 0;
  // Copies in of operations that have ended are complete then too: `compute`
  // has waited for them. So their host memory is free.
  device.wait(out, operation.ready);
  device.copyOut(out, sent.host, sent.data, sent.bytes);
  device.synchronize(out);
  return sent.bytes;
}

int64_t Staging::finish(int number) {
  const Part &part = operations[number].received;
  if (part.bytes == 0 || isShared(part))
    return 0;
  device.wait(in, operations[number].ready);
  device.copyIn(in, part.data, part.host, part.bytes);
  device.record(received, in);
  device.wait(compute, received);
  return part.bytes;
}

} // namespace ppopt::runtime
