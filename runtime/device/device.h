//===- device.h - Memory and execution of one device ----------------------===//
//
// All memory that tasks work on belongs to a device, and only the device reads
// and writes it. A rank has one Device and uses it from one thread at a time.
//
// Operations are enqueued on streams. Those of one stream run in the order in
// which they were enqueued; those of different streams in any order, unless an
// event orders them: what was enqueued on a stream before `record` is complete
// before what is enqueued on another stream after `wait`. The host sees
// results, and may reuse the host memory of copies, after `synchronize`. A
// device may run operations at once (CPUs), or at any later time.
//
// docs/adding-a-device.md has the rules and how to check a new device against
// them.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_DEVICE_H
#define PPOPT_RUNTIME_DEVICE_DEVICE_H

#include "ppopt/matmul.h"
#include "ppopt/runtime.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::device {

/// An address in a device's memory. The host computes with it and never
/// dereferences it.
class DevicePointer {
public:
  constexpr DevicePointer() = default;
  /// For devices, and for addresses that compiled code passes.
  explicit DevicePointer(const void *address) : address(address) {}

  DevicePointer operator+(int64_t bytes) const {
    return DevicePointer(static_cast<const char *>(address) + bytes);
  }
  explicit operator bool() const { return address != nullptr; }
  bool operator==(DevicePointer other) const {
    return address == other.address;
  }

  /// The address as compiled code passes it on. Not for access by the host.
  void *opaque() const { return const_cast<void *>(address); }

private:
  const void *address = nullptr;
};

/// A queue of operations of a device.
struct Stream {
  int index = -1;
};

/// A point in a stream, which other streams can wait for.
struct Event {
  int index = -1;
};

/// A point in a stream at which the device looks at its clock.
struct TimePoint {
  int index = -1;
};

/// A kernel: the bytes of the buffers that it reads, then of those that it
/// writes, in the order of its arguments. On a GPU a launch has a block for
/// each tile, with `threads` threads and `sharedBytes` of memory.
struct KernelSpec {
  std::string name;
  std::vector<int64_t> ins, outs;
  int64_t threads = 1, sharedBytes = 0;
};

/// A kernel of the program that computes a matmul. It takes A, B and C.
struct MatmulKernelSpec {
  std::string name;
  int64_t blocks = 1, threads = 1, sharedBytes = 0;
};

/// A matmul, of the library unless it has a kernel. `workspace` is the scratch
/// memory in bytes that the compiler has planned for it.
struct MatmulSpec {
  std::string name;
  MatmulDescriptor descriptor;
  int64_t workspace = 0;
  std::optional<MatmulKernelSpec> kernel;
};

/// Peak rates per second, to compare measured times with.
struct PeakRates {
  std::array<double, 3> flops{}; ///< of matmuls, by MatmulType; 0: not measured
  double bytes = 0;              ///< of copies; 0: not measured

  double flopsOf(MatmulType type) const { return flops[size_t(type)]; }
};

/// Bytes in which the host copies large memory: a multiple of the size of every
/// element type.
inline constexpr int64_t pieceBytes = int64_t{4} << 20;

class Communication;
class MatmulLibrary;

class Device {
public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Returns what the log says about the device; empty for a CPU. Called after
  /// all kernels and matmuls are defined.
  virtual std::string describe() const = 0;
  /// Returns the model, as "NVIDIA H200"; empty for a CPU.
  virtual std::string model() const { return {}; }
  /// Returns what it does in another way than it should, such as by an older
  /// library, and why: lines for the log. Called when describe() is.
  virtual std::vector<std::string> fallbacks() const { return {}; }

  /// Returns the rates in the device's data sheet; zeros if it has none.
  virtual PeakRates knownRates() const { return {}; }
  /// Measures the device, for these types of matmuls, unless its rates are
  /// known.
  virtual PeakRates measureRates(const std::vector<MatmulType> &) {
    return knownRates();
  }

  //===--- Memory ---------------------------------------------------------===//

  /// Returns memory filled with zeros and aligned to PPOPT_ALIGNMENT. It
  /// belongs to the device, and lives as long as it does. Throws Error if there
  /// is not enough; `what` names the memory in the message.
  virtual DevicePointer allocate(int64_t bytes, const char *what) = 0;

  /// Returns memory of the host for copies, which the device copies fastest
  /// from and to. It belongs to the device, and lives as long as it does.
  virtual char *allocateHost(int64_t bytes) = 0;

  /// Returns `pieceBytes` of such memory for copies that are complete before
  /// the next one uses it. Always the same.
  char *hostPiece() {
    if (!piece)
      piece = allocateHost(pieceBytes);
    return piece;
  }

  /// Returns where the host may access the memory, once the device is
  /// synchronized; null if it may not. Same address for the device's life.
  virtual char *hostView(DevicePointer pointer) const = 0;

  //===--- Order ----------------------------------------------------------===//

  /// `name` is a literal, for messages.
  virtual Stream makeStream(const char *name) = 0;
  virtual Event makeEvent() = 0;
  /// Moves the event to the current end of the stream.
  virtual void record(Event event, Stream stream) = 0;
  /// Operations enqueued on `stream` from now on run after all that preceded
  /// the event's last record. An event that was never recorded orders nothing.
  virtual void wait(Stream stream, Event event) = 0;
  /// Returns whether all that preceded the event's last record is complete, and
  /// true if it was never recorded. Does not block; polling alone makes
  /// progress until it is.
  virtual bool isComplete(Event event) = 0;
  /// Blocks until all operations of the stream are complete.
  virtual void synchronize(Stream stream) = 0;

  //===--- Operations -----------------------------------------------------===//

  // The host memory of a copy must stay as it is until `synchronize`.
  virtual void copyIn(Stream stream, DevicePointer to, const void *from,
                      int64_t bytes) = 0;
  virtual void copyOut(Stream stream, void *to, DevicePointer from,
                       int64_t bytes) = 0;
  virtual void fill(Stream stream, DevicePointer to, uint8_t value,
                    int64_t bytes) = 0;

  /// Prepare a kernel or a matmul before the first launch; number them from 0
  /// in the order of the calls. Throw Error if the device can't run it.
  virtual void defineKernel(const KernelSpec &kernel) = 0;
  virtual void defineMatmul(const MatmulSpec &matmul) = 0;

  /// Runs tiles [0, tiles) of a kernel. `arguments` are addresses of the
  /// device, and may change after the call. `code` is the kernel's function if
  /// it is one of the executable.
  virtual void launch(Stream stream, int kernel, ppopt_kernel_fn code,
                      void *const *arguments, int64_t tiles) = 0;
  virtual void matmul(Stream stream, int matmul, DevicePointer a,
                      DevicePointer b, DevicePointer c,
                      DevicePointer workspace) = 0;

  /// Returns the library that computes matmuls, if its algorithms can be
  /// chosen; else null. Called after all matmuls are defined.
  virtual MatmulLibrary *matmulLibrary() { return nullptr; }

  //===--- Communication --------------------------------------------------===//

  /// Returns how the device exchanges data with those of other ranks; null if
  /// data pass through host memory. Throws MissingDevice if the machine lacks
  /// what it needs for that.
  virtual Communication *communication() { return nullptr; }

  //===--- Times ----------------------------------------------------------===//

  // Of operations that run while the host goes on. Devices that run them at
  // once have no clock of their own.

  virtual bool hasClock() const { return false; }
  virtual TimePoint makeTimePoint() { return {}; }
  /// Moves the point to the current end of the stream.
  virtual void mark(TimePoint, Stream) {}
  /// Returns the time from one point to another. Both were marked in one
  /// stream, which is synchronized.
  virtual std::chrono::nanoseconds between(TimePoint, TimePoint) { return {}; }

  //===--- Graphs ---------------------------------------------------------===//

  // What is enqueued between the first two runs each time that the graph is
  // launched, with the same arguments, and not before. Meanwhile nothing may be
  // synchronized, allocated, or copied to or from the host.

  virtual bool hasGraphs() const { return false; }
  virtual void beginCapture(Stream) {}
  /// Returns the number of the graph.
  virtual int endCapture(Stream) { return -1; }
  /// After a failure: forgets what was enqueued.
  virtual void dropCapture(Stream) noexcept {}
  virtual void launchGraph(Stream, int) {}

private:
  char *piece = nullptr;
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_DEVICE_H
