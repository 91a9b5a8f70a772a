//===- communicator.h - The operations that a rank starts and waits for ---===//
//
// How a rank exchanges data with others, or its places with one another
// (docs/runtime-communication.md, "A rank's communicator"). Operations are
// numbered in the order of their definitions. Addresses are the device's.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_COMMUNICATOR_H
#define PPOPT_RUNTIME_EXECUTOR_COMMUNICATOR_H

#include "comm/channels.h"
#include "device/device.h"
#include "executor/background.h"
#include "program/program.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace ppopt::runtime {

/// A rank's part of a collective. Without `data`, each start gives the memory.
struct CollectivePart : comm::CollectiveSpec {
  int rank = 0; ///< of the mesh, whose part it is
  /// Of those whose starts give the memory: only one with this number is in
  /// flight.
  int slot = 0;
};

/// One end of a transfer.
struct TransferEnd : comm::TransferSpec {
  int rank = 0; ///< of the mesh, whose end it is
};

/// What a call has copied itself, between the device and the host.
struct Copied {
  int64_t bytes = 0;
  std::chrono::steady_clock::duration time{};
};

class Communicator {
public:
  Communicator() = default;
  /// Gives up what is in flight.
  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  // Before the first step. Each returns the number of the operation, and throws
  // std::invalid_argument for one that cannot be.
  virtual int define(const CollectivePart &part) = 0;
  virtual int define(const TransferEnd &end) = 0;
  /// Call on all ranks after the last define(). At most `transfers` transfers
  /// are in flight at once.
  virtual void open(int transfers) = 0;

  /// Starts an operation. If the call does all of it, returns the bytes that it
  /// has read and written; else nothing. Throws std::logic_error if it is in
  /// flight.
  virtual std::optional<int64_t> start(int operation) = 0;
  /// Starts a collective that was defined without memory, as ppopt_start.
  virtual Copied start(int operation, device::DevicePointer in,
                       device::DevicePointer out,
                       device::DevicePointer scratch) = 0;
  /// Returns when the operation is done for the tasks that are enqueued from
  /// now on. Throws std::logic_error if it is not in flight, and RankFailure if
  /// a rank has failed.
  virtual Copied wait(int operation) = 0;
  /// Returns whether the operation was started and is not yet waited for.
  virtual bool isStarted(int operation) const = 0;
  /// Waits for all that is in flight.
  virtual void waitForAll() = 0;
  /// Blocks until the device has done all that was enqueued for tasks.
  /// `isGraph`: these are a graph. Throws RankFailure if a rank has failed.
  virtual void synchronize(bool isGraph) = 0;

  /// Notifies `observer` (may be null) of the operations that begin and end
  /// from now on.
  virtual void observe(comm::OperationObserver *observer) = 0;
  /// Returns the payload bytes that this rank has started to send to others.
  virtual int64_t bytesStarted() const = 0;

  /// Returns false if no wait takes time.
  virtual bool waitsBlock() const { return true; }
  /// Returns false if the device exchanges data itself, or there is nobody to
  /// exchange them with. Then steps can be graphs of the device:
  virtual bool passesThroughHost() const { return true; }
  /// Counts what a graph sends.
  virtual void countSent(int64_t bytes) {}
  /// Forgets the starts since everything was waited for, which sent these
  /// bytes: they were captured in a graph that is never launched.
  virtual void forgetStarts(int64_t bytes) {}
};

/// What a communicator is made for. What it names outlives it.
struct CommunicatorSettings {
  const Program &program;
  device::Device &device;
  device::Stream compute;       ///< of tasks
  device::DevicePointer memory; ///< some of the tasks'
  comm::Transport *transport;   ///< null: there is one rank
  Background &background;
  comm::Collectives collectives;
};

using CommunicatorMaker =
    std::function<std::unique_ptr<Communicator>(const CommunicatorSettings &)>;

/// Makes the communicator that the program's launch, the transport and
/// `collectives` ask for. Throws Error if the device or the transport has none
/// such.
std::unique_ptr<Communicator>
makeCommunicator(const CommunicatorSettings &settings);

// These are what it makes.
std::unique_ptr<Communicator>
makeDeviceCommunicator(const CommunicatorSettings &settings);
std::unique_ptr<Communicator>
makeHostCommunicator(const CommunicatorSettings &settings);
std::unique_ptr<Communicator>
makeLocalCommunicator(const CommunicatorSettings &settings);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_COMMUNICATOR_H
