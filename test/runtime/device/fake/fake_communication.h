//===- fake_communication.h - Communication of a fake device --------------===//
//
// What the device that the fake one wraps exchanges with others, as operations
// of streams: late, with the bytes that they touch.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_FAKE_FAKE_COMMUNICATION_H
#define PPOPT_TEST_FAKE_FAKE_COMMUNICATION_H

#include "device/communication.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::fake {

class FakeDevice;

class FakeCommunication final : public device::Communication {
public:
  /// Bytes that an operation reads, writes or both.
  struct Operand {
    device::DevicePointer data;
    int64_t bytes;
    bool reads, writes;
  };

  FakeCommunication(FakeDevice &device, device::Communication &inner)
      : device(device), inner(inner) {}

  std::string describe() const override { return inner.describe(); }
  device::CommunicatorId makeId() override { return inner.makeId(); }
  void requireMemory(int64_t communicators) override {
    inner.requireMemory(communicators);
  }
  int join(const device::CommunicatorId &id, int ranks, int rank) override;
  void collective(device::Stream stream, int communicator,
                  geometry::Collective kind, comm::ElementType type,
                  device::DevicePointer in, device::DevicePointer out,
                  int64_t elements) override;
  void send(device::Stream stream, int communicator, int peer,
            device::DevicePointer data, int64_t bytes) override;
  void receive(device::Stream stream, int communicator, int peer,
               device::DevicePointer data, int64_t bytes) override;
  void throwIfFailed() override { inner.throwIfFailed(); }
  void abort() noexcept override { inner.abort(); }

private:
  FakeDevice &device;
  device::Communication &inner;
  std::vector<int> ranks; ///< by communicator
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_FAKE_COMMUNICATION_H
