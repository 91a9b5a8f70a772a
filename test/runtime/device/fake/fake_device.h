//===- fake_device.h - A device that keeps the rest of the tree honest ----===//
//
// Wraps another device. The host cannot access its memory: an attempt ends the
// process (faults.h). Operations run late, in an order that is drawn at random
// among those that streams and events allow (queues.h). Two operations that
// touch the same bytes without an order are an Error, whatever order was drawn
// (clocks.h, access_map.h). What a copy will write in host memory is garbage
// until it runs, and what it reads there must not change.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_FAKE_FAKE_DEVICE_H
#define PPOPT_TEST_FAKE_FAKE_DEVICE_H

#include "device/device.h"
#include "device/fake/access_map.h"
#include "device/fake/clocks.h"
#include "device/fake/fake_communication.h"
#include "device/fake/faults.h"
#include "device/fake/memory.h"
#include "device/fake/queues.h"
#include "device/fake/settings.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::fake {

/// Counted since the device was made.
struct Counters {
  int64_t copiesIn = 0, bytesIn = 0, copiesOut = 0, bytesOut = 0, fills = 0,
          launches = 0, matmuls = 0, exchanges = 0, waits = 0,
          synchronizations = 0, allocations = 0,
          lateAllocations = 0, ///< after the first launch or matmul
      discarded = 0;           ///< operations that never ran
};

class FakeDevice : public device::Device {
public:
  FakeDevice(std::unique_ptr<device::Device> inner, int rank,
             Settings settings);
  ~FakeDevice() override;

  std::string describe() const override;
  device::DevicePointer allocate(int64_t bytes, const char *what) override;
  char *allocateHost(int64_t bytes) override;
  char *hostView(device::DevicePointer) const override { return nullptr; }

  device::Stream makeStream(const char *name) override;
  device::Event makeEvent() override;
  void record(device::Event event, device::Stream stream) override;
  void wait(device::Stream stream, device::Event event) override;
  bool isComplete(device::Event event) override;
  void synchronize(device::Stream stream) override;

  void copyIn(device::Stream stream, device::DevicePointer to, const void *from,
              int64_t bytes) override;
  void copyOut(device::Stream stream, void *to, device::DevicePointer from,
               int64_t bytes) override;
  void fill(device::Stream stream, device::DevicePointer to, uint8_t value,
            int64_t bytes) override;

  void defineKernel(const device::KernelSpec &kernel) override;
  void defineMatmul(const device::MatmulSpec &matmul) override;
  void launch(device::Stream stream, int kernel, ppopt_kernel_fn code,
              void *const *arguments, int64_t tiles) override;
  void matmul(device::Stream stream, int matmul, device::DevicePointer a,
              device::DevicePointer b, device::DevicePointer c,
              device::DevicePointer workspace) override;

  /// Its alignments are those of addresses here, too.
  device::MatmulLibrary *matmulLibrary() override {
    return inner.matmulLibrary();
  }
  device::Communication *communication() override;

  // For its communication.

  /// Enqueues operations on `operands`, which are named `what`. `run` gets
  /// their addresses in the inner device.
  void communicate(
      device::Stream stream, const std::string &what,
      const std::vector<FakeCommunication::Operand> &operands,
      std::function<void(const std::vector<device::DevicePointer> &)> run);
  device::Stream streamOfExchanges() const { return exchangeStream; }

private:
  /// Host memory that a copy reads.
  struct Source {
    Operation operation;
    const char *from;
    int64_t bytes;
    size_t checksum;
    bool isFixed; ///< nothing may change it before the host sees the copy done
  };
  /// An operation as it is made up, before it is enqueued.
  struct Draft {
    Operation operation;
    std::vector<Access> accesses;
  };

  Draft begin(device::Stream stream, Kind kind, int index = -1);
  /// Adds an access to device memory, and returns where it is in the inner
  /// device.
  device::DevicePointer touch(Draft &draft, device::DevicePointer at,
                              int64_t bytes, const std::string &operand,
                              bool reads, bool writes);
  /// Checks the accesses for races and enqueues the operation.
  void enqueue(const Draft &draft, std::function<void()> run);
  void enqueueCopy(const Draft &draft, std::function<void()> run);
  void check(const Source &source);
  void checkSeenSources();
  void checkStream(device::Stream stream) const;
  void checkEvent(device::Event event) const;

  std::string name(const Operation &operation) const;
  [[noreturn]] void fail(const std::string &message) const;
  void writeReport() const;

  const std::unique_ptr<device::Device> owned;
  device::Device &inner;
  const int rank;
  const Settings settings;
  const device::Stream innerStream;    ///< runs all operations
  const device::Stream exchangeStream; ///< but exchanges with other ranks
  const device::Event exchanged;       ///< the last of these
  LastOperations last;
  Memory memory;
  std::deque<GuardedRange> guards;
  Clocks clocks;
  AccessMap accesses;
  Queues queues;
  std::vector<std::string> streamNames;
  int events = 0;
  std::vector<device::KernelSpec> kernels;
  std::vector<device::MatmulSpec> matmuls;
  std::optional<FakeCommunication> theCommunication;
  std::vector<std::string> exchanges; ///< names, by index of operations
  std::vector<std::shared_ptr<Source>> sources; ///< that the host must keep
  int64_t pendingCopies = 0;                    ///< that have not run
  Counters counters;
  mutable std::string failure; ///< after an error nothing runs any more
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_FAKE_DEVICE_H
