//===- workbench.h - The GPU and its memory, while kernels run alone ------===//

#ifndef PPOPT_TEST_GPU_KERNELS_WORKBENCH_H
#define PPOPT_TEST_GPU_KERNELS_WORKBENCH_H

#include "contents.h"
#include "device/device.h"

#include <memory>

namespace ppopt::gpu {

/// The device of an executable, with one stream and one range of memory, which
/// launches take in turn.
class Workbench {
public:
  /// `stem` names the files of device code in the folder. Throws MissingDevice
  /// if there is no GPU, Error if it can't be used.
  Workbench(const std::string &folder, const std::string &stem,
            const std::string &gpu);

  /// Makes sure that there is so much memory. Throws Error. Not all at once:
  /// memory lives as long as the device.
  void reserve(int64_t bytes);

  device::DevicePointer at(int64_t offset) const { return memory + offset; }
  void fill(int64_t offset, int64_t bytes, uint8_t value) {
    device->fill(stream, at(offset), value, bytes);
  }
  void write(int64_t offset, const Bytes &from) {
    device->copyIn(stream, at(offset), from.data(), int64_t(from.size()));
  }
  /// Waits for the copy.
  Bytes read(int64_t offset, int64_t bytes);
  void synchronize() { device->synchronize(stream); }

  /// Numbers from 0.
  int defineKernel(const device::KernelSpec &kernel);
  int defineMatmul(const device::MatmulSpec &matmul);

  /// Returns the seconds of one of many runs, one after the other: the median
  /// of several times. `enqueue` adds one run to the stream.
  template <typename Enqueue> double time(const Enqueue &enqueue);

  // After `memory`, which it frees.
  std::unique_ptr<device::Device> device;
  device::Stream stream;

private:
  double timeGraph(int graph);

  // The text of the kernels, which the device reads when it is made.
  std::string ptx, cubin;
  device::DevicePointer memory;
  int64_t reserved = 0;
  int kernels = 0, matmuls = 0;
};

template <typename Enqueue> double Workbench::time(const Enqueue &enqueue) {
  // As executables run them: as a graph. Waiting for one takes some 10 us, and
  // is to be a small part.
  constexpr double wanted = 4e-3, atMost = 50e-3, warmUp = 5e-3;
  int64_t count = 4;
  double seconds = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    device->beginCapture(stream);
    for (int64_t i = 0; i < count; ++i)
      enqueue();
    int graph = device->endCapture(stream);
    double all = 0;
    while (all < warmUp)
      all += timeGraph(graph);
    std::vector<double> times;
    all = 0;
    do {
      times.push_back(timeGraph(graph));
      all += times.back();
    } while (times.size() < 5 && all < atMost);
    std::sort(times.begin(), times.end());
    double whole = times[times.size() / 2];
    seconds = whole / double(count);
    if (whole > wanted / 2)
      break;
    count = std::min<int64_t>(2000, int64_t(wanted / seconds) + 1);
  }
  return seconds;
}

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_WORKBENCH_H
