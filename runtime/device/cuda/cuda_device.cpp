//===- cuda_device.cpp - A GPU of NVIDIA as a device ----------------------===//

#include "device/cuda/cuda_device.h"

#include "base/error.h"
#include "device/cuda/gpu.h"
#include "device/cuda/kernel_code.h"
#include "device/cuda/library.h"
#include "device/cuda/library_matmul.h"
#include "device/cuda/nccl.h"
#include "device/cuda/peak_rates.h"
#include "device/device_makers.h"
#include "device/matmul_library.h"
#include "ppopt/byte_amount.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::cuda {
namespace {

using device::DevicePointer;
using runtime::Error;

DeviceMemory at(DevicePointer pointer) {
  return DeviceMemory(reinterpret_cast<uintptr_t>(pointer.opaque()));
}

/// A kernel and how to launch it.
struct PreparedKernel {
  std::string name;
  Function function = nullptr;
  unsigned threads = 0, shared = 0;
};

class CudaDevice final : public device::Device, public device::MatmulLibrary {
public:
  explicit CudaDevice(const device::DeviceOptions &options)
      : gpu(options.choice), driver(loadDriver()),
        code(options.code, options.gpu, gpu) {}
  ~CudaDevice() override;

  std::string describe() const override;
  std::string model() const override { return gpu.name; }
  std::vector<std::string> fallbacks() const override;
  device::PeakRates knownRates() const override {
    return findPeakRates(gpu.name);
  }
  DevicePointer allocate(int64_t bytes, const char *what) override;
  char *allocateHost(int64_t bytes) override;
  char *hostView(DevicePointer) const override { return nullptr; }

  device::Stream makeStream(const char *name) override;
  device::Event makeEvent() override;
  void record(device::Event event, device::Stream stream) override {
    enter();
    require(driver.eventRecord(events[event.index], streams[stream.index]),
            "recording an event");
  }
  void wait(device::Stream stream, device::Event event) override {
    enter();
    require(driver.streamWaitEvent(streams[stream.index], events[event.index],
                                   /*flags=*/0),
            "waiting for an event");
  }
  bool isComplete(device::Event event) override {
    enter();
    DriverResult result = driver.eventQuery(events[event.index]);
    if (result != DriverResult::notReady)
      require(result, "looking at an event");
    return result == DriverResult::success;
  }
  void synchronize(device::Stream stream) override {
    enter();
    require(driver.streamSynchronize(streams[stream.index]),
            "waiting for the stream '" + streamNames[stream.index] + "'");
  }

  void copyIn(device::Stream stream, DevicePointer to, const void *from,
              int64_t bytes) override {
    if (bytes == 0)
      return;
    enter();
    require(driver.memcpyHtoDAsync(at(to), from, size_t(bytes),
                                   streams[stream.index]),
            "a copy to the GPU");
  }
  void copyOut(device::Stream stream, void *to, DevicePointer from,
               int64_t bytes) override {
    if (bytes == 0)
      return;
    enter();
    require(driver.memcpyDtoHAsync(to, at(from), size_t(bytes),
                                   streams[stream.index]),
            "a copy from the GPU");
  }
  void fill(device::Stream stream, DevicePointer to, uint8_t value,
            int64_t bytes) override {
    if (bytes == 0)
      return;
    enter();
    require(driver.memsetD8Async(at(to), value, size_t(bytes),
                                 streams[stream.index]),
            "filling memory");
  }

  void defineKernel(const device::KernelSpec &kernel) override;
  void defineMatmul(const device::MatmulSpec &matmul) override;
  void launch(device::Stream stream, int kernel, ppopt_kernel_fn,
              void *const *arguments, int64_t tiles) override {
    const PreparedKernel &prepared = kernels[kernel];
    launch(stream, prepared, int(argumentCounts[kernel]), arguments, tiles);
  }
  void matmul(device::Stream stream, int matmul, DevicePointer a,
              DevicePointer b, DevicePointer c,
              DevicePointer workspace) override;

  device::MatmulLibrary *matmulLibrary() override {
    return blas ? this : nullptr;
  }
  device::MatmulMachine machine() const override {
    return {gpu.name, gpu.multiprocessors, blas->describe()};
  }
  bool computes(int matmul) const override {
    return bool(matmuls[matmul].library);
  }
  device::MatmulAlignment alignmentOf(int matmul, DevicePointer a,
                                      DevicePointer b,
                                      DevicePointer c) const override {
    return matmuls[matmul].library->largest().alignmentOf(at(a), at(b), at(c));
  }
  std::vector<device::MatmulAlgorithm>
  algorithms(int matmul, const device::MatmulAlignment &alignment,
             int most) override;
  void use(int matmul, const device::MatmulAlignment &alignment,
           const device::MatmulAlgorithm &algorithm) override;

  device::Communication *communication() override;

  bool hasClock() const override { return true; }
  device::TimePoint makeTimePoint() override;
  void mark(device::TimePoint point, device::Stream stream) override {
    enter();
    require(driver.eventRecord(timePoints[point.index], streams[stream.index]),
            "recording a time");
  }
  std::chrono::nanoseconds between(device::TimePoint begin,
                                   device::TimePoint end) override;

  bool hasGraphs() const override { return true; }
  void beginCapture(device::Stream stream) override {
    enter();
    require(driver.streamBeginCapture(streams[stream.index],
                                      CaptureMode::threadLocal),
            "capturing a graph");
  }
  int endCapture(device::Stream stream) override;
  void dropCapture(device::Stream stream) noexcept override;
  void launchGraph(device::Stream stream, int graph) override {
    enter();
    require(driver.graphLaunch(graphs[graph], streams[stream.index]),
            "launching a graph");
  }

private:
  /// A matmul is a kernel of the program, or the library's.
  struct PreparedMatmul {
    std::optional<PreparedKernel> kernel;
    unsigned blocks = 0;
    std::unique_ptr<LibraryMatmul> library;
  };

  /// One that is in flight goes on to its end.
  void destroyGraphs() noexcept;
  void enter() const { gpu.enter(); }
  void require(DriverResult result, const std::string &what) const {
    if (result != DriverResult::success)
      check(result, gpu.describe() + ": " + what);
  }
  PreparedKernel prepare(const std::string &name, int64_t threads,
                         int64_t shared);
  void launch(device::Stream stream, const PreparedKernel &kernel,
              int arguments, void *const *values, int64_t blocks);

  const Gpu gpu;
  const DriverApi &driver;
  KernelCode code;
  std::optional<Blas> blas; ///< none until a matmul needs it
  std::optional<Nccl> nccl; ///< none until somebody communicates
  device::Stream clearing;  ///< none until memory is allocated
  std::vector<Stream> streams;
  std::vector<std::string> streamNames;
  std::vector<Event> events, timePoints;
  std::vector<DeviceMemory> memory;
  std::vector<void *> hostMemory;
  std::vector<PreparedKernel> kernels;
  std::vector<size_t> argumentCounts; ///< by kernel
  std::vector<PreparedMatmul> matmuls;
  std::vector<GraphExec> graphs;
  std::vector<void *> parameters; ///< of a launch
};

CudaDevice::~CudaDevice() {
  // Errors were reported where they happened; after one, these fail too.
  driver.contextSetCurrent(gpu.handle());
  for (Stream stream : streams)
    driver.streamSynchronize(stream);
  destroyGraphs();
  nccl.reset();
  matmuls.clear();
  blas.reset();
  for (const std::vector<Event> &all : {events, timePoints})
    for (Event event : all)
      driver.eventDestroy(event);
  for (Stream stream : streams)
    driver.streamDestroy(stream);
  for (void *each : hostMemory)
    driver.memFreeHost(each);
  for (DeviceMemory each : memory)
    driver.memFree(each);
}

void CudaDevice::destroyGraphs() noexcept {
  driver.contextSetCurrent(gpu.handle());
  for (GraphExec graph : std::exchange(graphs, {}))
    driver.graphExecDestroy(graph);
}

std::string CudaDevice::describe() const {
  std::string text =
      fmt::format("{}, sm_{}, {}, driver {}{}, {}", gpu.describe(),
                  gpu.capability, spellByteAmount(gpu.bytes), driverVersion(),
                  blas ? ", " + blas->describe() : "", code.describe());
  if (gpu.ranks > 1)
    text += fmt::format("; shared by {} ranks", gpu.ranks);
  if (nccl)
    text += ", " + nccl->describe();
  return text;
}

std::vector<std::string> CudaDevice::fallbacks() const {
  std::vector<std::string> all;
  if (!code.fallback().empty())
    all.push_back(code.fallback());
  if (blas && !blas->fallback.empty())
    all.push_back(blas->fallback);
  return all;
}

DevicePointer CudaDevice::allocate(int64_t bytes, const char *what) {
  enter();
  bytes = std::max(bytes, int64_t{PPOPT_ALIGNMENT});
  DeviceMemory address = 0;
  int64_t free = gpu.freeBytes();
  DriverResult result = bytes > free ? DriverResult::outOfMemory
                                     : driver.memAlloc(&address, size_t(bytes));
  if (result == DriverResult::outOfMemory)
    throw Error("{} has {} free of {}, and {} takes {}: end what else runs "
                "there, use more microbatches or --zero, or a GPU with more "
                "memory",
                gpu.describe(), spellByteAmount(free),
                spellByteAmount(gpu.bytes), what, spellByteAmount(bytes));
  require(result, fmt::format("allocating {}", what));
  memory.push_back(address);
  DevicePointer pointer(reinterpret_cast<void *>(uintptr_t(address)));
  if (clearing.index < 0)
    clearing = makeStream("clearing");
  fill(clearing, pointer, 0, bytes);
  synchronize(clearing);
  return pointer;
}

char *CudaDevice::allocateHost(int64_t bytes) {
  enter();
  void *address = nullptr;
  require(driver.memAllocHost(&address, size_t(std::max(bytes, int64_t{1}))),
          fmt::format("allocating {} of pinned host memory",
                      spellByteAmount(bytes)));
  hostMemory.push_back(address);
  return static_cast<char *>(address);
}

device::Stream CudaDevice::makeStream(const char *name) {
  enter();
  Stream stream = nullptr;
  require(driver.streamCreate(&stream, streamNonBlocking), "making a stream");
  streams.push_back(stream);
  streamNames.push_back(name);
  return {int(streams.size()) - 1};
}

device::Event CudaDevice::makeEvent() {
  enter();
  Event event = nullptr;
  require(driver.eventCreate(&event, eventDisableTiming), "making an event");
  events.push_back(event);
  return {int(events.size()) - 1};
}

device::TimePoint CudaDevice::makeTimePoint() {
  enter();
  Event event = nullptr;
  require(driver.eventCreate(&event, eventDefault), "making a time point");
  timePoints.push_back(event);
  return {int(timePoints.size()) - 1};
}

std::chrono::nanoseconds CudaDevice::between(device::TimePoint begin,
                                             device::TimePoint end) {
  enter();
  float milliseconds = 0;
  require(driver.eventElapsedTime(&milliseconds, timePoints[begin.index],
                                  timePoints[end.index]),
          "reading a time");
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double, std::milli>(milliseconds));
}

PreparedKernel CudaDevice::prepare(const std::string &name, int64_t threads,
                                   int64_t shared) {
  enter();
  PreparedKernel kernel{name, code.find(name), unsigned(threads),
                        unsigned(shared)};
  // What a launch gets without asking.
  constexpr int64_t usual = 48 << 10;
  if (shared > gpu.sharedBytes)
    throw Error("kernel {} needs {} bytes of shared memory per block, and {} "
                "has {}: compile the program for it, with --gpu sm_{}",
                name, shared, gpu.describe(), gpu.sharedBytes, gpu.capability);
  if (shared > usual)
    require(driver.functionSetAttribute(
                kernel.function, FunctionAttribute::maxDynamicSharedBytes,
                int(shared)),
            "preparing kernel " + name);
  return kernel;
}

void CudaDevice::defineKernel(const device::KernelSpec &kernel) {
  kernels.push_back(prepare(kernel.name, kernel.threads, kernel.sharedBytes));
  argumentCounts.push_back(kernel.ins.size() + kernel.outs.size());
}

void CudaDevice::defineMatmul(const device::MatmulSpec &matmul) {
  PreparedMatmul prepared;
  if (matmul.kernel) {
    prepared.kernel = prepare(matmul.kernel->name, matmul.kernel->threads,
                              matmul.kernel->sharedBytes);
    prepared.blocks = unsigned(matmul.kernel->blocks);
  } else {
    enter();
    if (!blas)
      blas.emplace();
    prepared.library = std::make_unique<LibraryMatmul>(*blas, matmul);
  }
  matmuls.push_back(std::move(prepared));
}

void CudaDevice::launch(device::Stream stream, const PreparedKernel &kernel,
                        int arguments, void *const *values, int64_t blocks) {
  if (blocks == 0)
    return;
  enter();
  parameters.resize(size_t(arguments));
  for (int i = 0; i < arguments; ++i)
    parameters[size_t(i)] = const_cast<void **>(values + i);
  DriverResult result = driver.launchKernel(
      kernel.function, unsigned(blocks), 1, 1, kernel.threads, 1, 1,
      kernel.shared, streams[stream.index], parameters.data(), nullptr);
  if (result != DriverResult::success)
    require(result, "launching kernel " + kernel.name);
}

void CudaDevice::matmul(device::Stream stream, int matmul, DevicePointer a,
                        DevicePointer b, DevicePointer c,
                        DevicePointer workspace) {
  const PreparedMatmul &prepared = matmuls[matmul];
  if (prepared.kernel) {
    void *const operands[] = {a.opaque(), b.opaque(), c.opaque()};
    return launch(stream, *prepared.kernel, 3, operands, prepared.blocks);
  }
  enter();
  prepared.library->run(streams[stream.index], at(a), at(b), at(c),
                        at(workspace));
}

std::vector<device::MatmulAlgorithm>
CudaDevice::algorithms(int matmul, const device::MatmulAlignment &alignment,
                       int most) {
  enter();
  std::vector<device::MatmulAlgorithm> found;
  for (const MatmulAlgorithm &each :
       matmuls[matmul].library->largest().algorithms(alignment, most))
    std::memcpy(found.emplace_back().data(), &each, sizeof each);
  return found;
}

void CudaDevice::use(int matmul, const device::MatmulAlignment &alignment,
                     const device::MatmulAlgorithm &algorithm) {
  enter();
  MatmulAlgorithm given;
  static_assert(sizeof given == sizeof algorithm);
  std::memcpy(&given, algorithm.data(), sizeof given);
  matmuls[matmul].library->largest().use(alignment, given);
}

device::Communication *CudaDevice::communication() {
  if (!nccl)
    nccl.emplace(
        gpu,
        [this](device::Stream stream) { return streams[size_t(stream.index)]; },
        [this] { destroyGraphs(); });
  return &*nccl;
}

int CudaDevice::endCapture(device::Stream stream) {
  enter();
  Graph graph = nullptr;
  require(driver.streamEndCapture(streams[stream.index], &graph),
          "capturing a graph");
  GraphExec exec = nullptr;
  DriverResult result = driver.graphInstantiate(&exec, graph, /*flags=*/0);
  driver.graphDestroy(graph);
  require(result, "preparing a graph");
  graphs.push_back(exec);
  return int(graphs.size()) - 1;
}

void CudaDevice::dropCapture(device::Stream stream) noexcept {
  Graph graph = nullptr;
  driver.contextSetCurrent(gpu.handle());
  if (driver.streamEndCapture(streams[stream.index], &graph) ==
          DriverResult::success &&
      graph)
    driver.graphDestroy(graph);
}

} // namespace
} // namespace ppopt::cuda

namespace ppopt::device {

std::unique_ptr<Device> makeCudaDevice(const DeviceOptions &options) {
  return std::make_unique<cuda::CudaDevice>(options);
}

} // namespace ppopt::device

ppopt::device::Device *
ppopt_make_cuda_device(const ppopt::device::DeviceOptions &options) {
  return ppopt::device::makeCudaDevice(options).release();
}

void ppopt_identify_cuda_gpus(std::vector<std::string> &identities) {
  identities = ppopt::cuda::identifyGpus();
}
