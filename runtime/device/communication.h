//===- communication.h - Collectives and transfers between devices --------===//
//
// What a device exchanges with those of other ranks by itself, without host
// memory. Operations are enqueued on streams like all others. One is complete
// when all its ranks have reached it, so it blocks its stream until then: all
// ranks enqueue their operations in one order.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_COMMUNICATION_H
#define PPOPT_RUNTIME_DEVICE_COMMUNICATION_H

#include "comm/element_type.h"
#include "device/device.h"
#include "geometry/collective.h"

#include <array>
#include <cstdint>
#include <string>

namespace ppopt::device {

/// Names a communicator that does not exist yet.
using CommunicatorId = std::array<char, 128>;

class Communication {
public:
  Communication() = default;
  virtual ~Communication() = default;
  Communication(const Communication &) = delete;
  Communication &operator=(const Communication &) = delete;

  /// Returns what the log says: "NCCL 2.28.9".
  virtual std::string describe() const = 0;

  /// Throws Error if the device has no memory left for so many communicators.
  virtual void requireMemory(int64_t communicators) = 0;
  /// Returns a new id, which the caller passes to all ranks of the
  /// communicator.
  virtual CommunicatorId makeId() = 0;
  /// Becomes rank `rank` of the communicator, and returns its number. Blocks
  /// until all of its ranks have called. Throws Error if that fails.
  virtual int join(const CommunicatorId &id, int ranks, int rank) = 0;

  /// Runs a collective of the communicator's ranks on `elements` elements of
  /// the whole value. An all-gather reads this rank's chunk at `in` and writes
  /// the whole to `out`, a reduce-scatter the other way round; chunks are
  /// equal. All others read and write the whole. Either may lie in the other,
  /// where it would be.
  virtual void collective(Stream stream, int communicator,
                          geometry::Collective kind, comm::ElementType type,
                          DevicePointer in, DevicePointer out,
                          int64_t elements) = 0;
  virtual void send(Stream stream, int communicator, int peer,
                    DevicePointer data, int64_t bytes) = 0;
  virtual void receive(Stream stream, int communicator, int peer,
                       DevicePointer data, int64_t bytes) = 0;

  /// Throws Error if an operation has failed. Does not block.
  virtual void throwIfFailed() = 0;
  /// Ends what is in flight, on this rank only; nothing works after it, nor do
  /// graphs of the device. For destructors after a failure.
  virtual void abort() noexcept = 0;
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_COMMUNICATION_H
