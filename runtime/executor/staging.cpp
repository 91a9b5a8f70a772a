//===- staging.cpp - Host memory between a device and the transport -------===//

#include "executor/staging.h"

namespace ppopt::runtime {

using device::DevicePointer;

Staging::Staging(device::Device &device, device::Stream compute)
    : device(device), compute(compute), out(device.makeStream("copies out")),
      in(device.makeStream("copies in")), received(device.makeEvent()) {}

char *Staging::allocate(int64_t bytes) {
  memory.push_back(std::make_unique<char[]>(bytes));
  return memory.back().get();
}

void *Staging::add(DevicePointer data, int64_t bytes, bool sends,
                   bool receives) {
  char *view = device.hostView(data);
  operations.push_back({data, bytes, sends, receives,
                        view ? nullptr : allocate(bytes), device.makeEvent()});
  return view ? view : operations.back().host;
}

void *Staging::addScratch(DevicePointer data, int64_t bytes) {
  char *view = device.hostView(data);
  return view || bytes == 0 ? view : allocate(bytes);
}

void Staging::start(int number) {
  const Operation &operation = operations[number];
  if (!operation.host)
    return device.synchronize(compute);
  // What is received may overwrite the memory from here on.
  device.record(operation.ready, compute);
  if (!operation.sends)
    return;
  device.wait(out, operation.ready);
  device.copyOut(out, operation.host, operation.data, operation.bytes);
  device.synchronize(out);
}

void Staging::finish(int number) {
  const Operation &operation = operations[number];
  if (!operation.host || !operation.receives)
    return;
  device.wait(in, operation.ready);
  device.copyIn(in, operation.data, operation.host, operation.bytes);
  device.record(received, in);
  device.wait(compute, received);
}

} // namespace ppopt::runtime
