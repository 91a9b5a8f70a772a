//===- device_channels.h - Starts and waits that the device makes itself --===//
//
// As comm::Channels, for devices with Communication. An operation runs on a
// stream of its own for all of them, in the order of the starts, which is the
// same on all ranks that take part (pp-order-starts). A start records an event
// of the tasks' stream, for which the operation waits; a wait lets the tasks'
// stream wait for the operation. The host decides nothing and waits for
// nothing.
//
//   start 4      record(ready 4, compute)   wait(communication, ready 4)
//                ...                        record(done 4, communication)
//   wait 4       wait(compute, done 4)
//
// Transfers are not put in groups, which NCCL would start together: a group is
// complete as a whole, so the wait for its first transfer would wait for its
// last one too, which may depend on what comes after that wait.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_DEVICE_CHANNELS_H
#define PPOPT_RUNTIME_EXECUTOR_DEVICE_CHANNELS_H

#include "comm/channels.h"
#include "device/communication.h"
#include "geometry/mesh.h"

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace ppopt::runtime {

class DeviceChannels {
public:
  /// `communication` is the device's. `channel` is one of the transport that
  /// nobody else uses. All ranks say the same of `hasTransfers`: whether any
  /// rank will define transfers.
  DeviceChannels(device::Device &device, device::Communication &communication,
                 device::Stream compute, comm::Transport &transport,
                 geometry::Mesh mesh, int channel, bool hasTransfers);
  /// Aborts what is in flight, and what does not end since this rank or another
  /// one has failed: destroy it before the device.
  ~DeviceChannels();

  // As in comm::Channels. Data are addresses of the device; there is no
  // scratch memory. Throw std::invalid_argument also if the chunks of a gather
  // or a reduce-scatter are not equal.
  int define(const comm::CollectiveSpec &spec);
  int define(const comm::TransferSpec &spec);
  /// Call on all ranks after the last define(): joins the communicators.
  void open();

  /// Starts an operation. Throws std::logic_error if it is in flight.
  void start(int operation);
  /// Starts an operation on this memory: one that was defined without.
  void start(int operation, device::DevicePointer in,
             device::DevicePointer out);
  /// Lets what is enqueued for tasks from now on wait for the operation. Throws
  /// std::logic_error if it is not in flight.
  void wait(int operation);
  bool isStarted(int operation) const {
    return operations[operation].isStarted;
  }
  /// As wait(), for all that is in flight.
  void waitForAll();

  /// Blocks until the device has done all that was enqueued for tasks;
  /// `isGraph` says that these are a graph, whose operations are not known.
  /// Throws RankFailure if a rank has failed, and Error if an operation has.
  void synchronize(bool isGraph = false);

  /// Returns the bytes that this rank has started to send, as a ring sends
  /// them.
  uint64_t bytesStarted() const { return started; }
  /// Forgets the starts since everything was waited for, which sent these
  /// bytes: they were captured in a graph that is never launched.
  void forgetStarts(int64_t bytes);
  /// Counts what a graph sends.
  void countSent(int64_t bytes) { started += uint64_t(bytes); }

  /// Notifies `observer` (may be null) of all operations that are waited for
  /// from now on. Then waits block until the operation is complete.
  void observe(comm::OperationObserver *observer) { theObserver = observer; }

private:
  struct Operation {
    std::string name;
    bool isTransfer = false, sends = false, isStarted = false;
    size_t group = 0;
    int peer = comm::Activity::anyRank;
    geometry::Collective kind = geometry::Collective::AllReduce;
    comm::ElementType type = comm::ElementType::F32;
    int64_t elements = 0;       ///< of a transfer: bytes
    device::DevicePointer data; ///< null: each start gives the memory
    int64_t chunkBytes = 0, bytesSent = 0;
    device::Event ready, done;
    uint64_t sequence = 0; ///< of its last start; 0: not since synchronize()
  };
  /// Ranks that share a communicator.
  struct Group {
    int channel = 0; ///< the lowest; ranks join in this order
    geometry::Members members;
    int communicator = -1; ///< -1: this rank alone
  };
  int add(Operation operation);
  size_t findGroup(int channel, geometry::Members members);
  void join(Group &group);
  int findBlocking();
  bool drain() noexcept;

  device::Device &device;
  device::Communication &communication;
  const device::Stream compute, stream;
  const device::Event end;
  comm::Transport &transport;
  const geometry::Mesh mesh;
  const int channel;
  comm::OperationObserver *theObserver = nullptr;
  std::vector<Group> groups;
  std::vector<Operation> operations;
  uint64_t starts = 0, started = 0;
  const int uncaughtBefore = std::uncaught_exceptions();
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_DEVICE_CHANNELS_H
