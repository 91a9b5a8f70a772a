//===- cpu_device.cpp - The CPU as a device -------------------------------===//

#include "device/cpu/cpu_device.h"

#include "base/error.h"
#include "device/cpu/host_memory.h"
#include "device/cpu/matmul.h"
#include "device/cpu/team.h"
#include "device/device_makers.h"
#include "device/progress_hook.h"
#include "ppopt/machine_rate.h"

#include <algorithm>
#include <cstring>

namespace ppopt::device {
namespace {

char *at(DevicePointer pointer) {
  return static_cast<char *>(pointer.opaque());
}

/// Streams and events need no state: every operation is complete when the call
/// that enqueues it returns.
class CpuDevice : public Device {
public:
  explicit CpuDevice(int threads) : threads(threads) { setTeamSize(threads); }

  std::string describe() const override { return {}; }
  PeakRates measureRates(const std::vector<MatmulType> &types) override;

  DevicePointer allocate(int64_t bytes, const char *what) override {
    memory.push_back(std::make_unique<HostMemory>(bytes, what));
    return DevicePointer(memory.back()->base());
  }
  char *allocateHost(int64_t bytes) override {
    memory.push_back(
        std::make_unique<HostMemory>(std::max(bytes, int64_t{1}), "copies"));
    return memory.back()->base();
  }
  char *hostView(DevicePointer pointer) const override { return at(pointer); }

  Stream makeStream(const char *) override { return {streams++}; }
  Event makeEvent() override { return {events++}; }
  void record(Event, Stream) override {}
  void wait(Stream, Event) override {}
  bool isComplete(Event) override { return true; }
  void synchronize(Stream) override {}

  void copyIn(Stream, DevicePointer to, const void *from,
              int64_t bytes) override {
    copy(at(to), static_cast<const char *>(from), bytes);
  }
  void copyOut(Stream, void *to, DevicePointer from, int64_t bytes) override {
    copy(static_cast<char *>(to), at(from), bytes);
  }
  void fill(Stream, DevicePointer to, uint8_t value, int64_t bytes) override {
    forPieces(bytes, [&](int64_t begin, int64_t end) {
      std::memset(at(to) + begin, value, end - begin);
    });
  }

  void defineKernel(const KernelSpec &) override {}
  void defineMatmul(const MatmulSpec &matmul) override;
  void launch(Stream, int, ppopt_kernel_fn code, void *const *arguments,
              int64_t tiles) override {
    // Alone, with nothing to progress, a thread takes all tiles at once.
    if (threads == 1 && !progressHook) {
      if (tiles > 0)
        code(arguments, 0, tiles);
      return;
    }
    parallelFor(threads, tiles, [&](int64_t begin, int64_t end) {
      callProgressHook();
      code(arguments, begin, end);
    });
  }
  void matmul(Stream, int matmul, DevicePointer a, DevicePointer b,
              DevicePointer c, DevicePointer workspace) override {
    matmuls[matmul].run(a.opaque(), b.opaque(), c.opaque(), workspace.opaque());
  }

private:
  /// Calls `body(begin, end)` for pieces of the bytes, on the team.
  template <typename Body> void forPieces(int64_t bytes, const Body &body) {
    // Below this size, a thread costs more than it saves.
    constexpr int64_t piece = 64 * 1024;
    int64_t pieces = (bytes + piece - 1) / piece;
    parallelFor(threads, pieces, [&](int64_t begin, int64_t end) {
      body(begin * piece, std::min(end * piece, bytes));
    });
  }
  void copy(char *to, const char *from, int64_t bytes) {
    forPieces(bytes, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, end - begin);
    });
  }

  const int threads;
  int streams = 0, events = 0;
  std::vector<std::unique_ptr<HostMemory>> memory;
  std::vector<PreparedMatmul> matmuls;
};

/// A matmul without workspace for the library would silently run many times
/// slower.
void CpuDevice::defineMatmul(const MatmulSpec &matmul) {
  PreparedMatmul prepared(matmul.descriptor, threads, matmul.workspace);
  std::string wanted = matmulImplementation(matmul.descriptor, threads,
                                            /*workspaceBytes=*/SIZE_MAX);
  if (prepared.name() == "own loops" && wanted != "own loops")
    throw runtime::Error(
        "matmul {}: {} needs {} bytes of workspace on this machine with {} "
        "threads per rank, and the program has {}: compile it for this machine "
        "with --threads {}",
        matmul.name, wanted, matmulWorkspaceBytes(matmul.descriptor, threads),
        threads, matmul.workspace, threads);
  matmuls.push_back(std::move(prepared));
}

PeakRates CpuDevice::measureRates(const std::vector<MatmulType> &types) {
  PeakRates rates;
  for (MatmulType type : types)
    if (double &rate = rates.flops[size_t(type)]; rate == 0)
      rate = packedMatmulRate(type, threads);
  rates.bytes = streamingRate(threads);
  return rates;
}

} // namespace

std::unique_ptr<Device> makeCpuDevice(int threads) {
  return std::make_unique<CpuDevice>(threads);
}

} // namespace ppopt::device

ppopt::device::Device *
ppopt_make_cpu_device(const ppopt::device::DeviceOptions &options) {
  return ppopt::device::makeCpuDevice(options.threads).release();
}
