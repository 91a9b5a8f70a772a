//===- workbench.cpp - The GPU and its memory, while kernels run alone ----===//

#include "workbench.h"

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "read_bundle.h"

#include <chrono>

namespace ppopt::gpu {

Workbench::Workbench(const std::string &folder, const std::string &stem,
                     const std::string &gpu)
    : ptx(readFile(folder, stem + ".ptx")),
      cubin(readFile(folder, stem + ".cubin")) {
  device::DeviceOptions options;
  options.code = {ptx, cubin};
  options.gpu = gpu;
  device = device::makeCudaDevice(options);
  stream = device->makeStream("kernels");
}

void Workbench::reserve(int64_t bytes) {
  if (bytes <= reserved)
    return;
  memory = device->allocate(bytes, "the largest kernel");
  reserved = bytes;
}

Bytes Workbench::read(int64_t offset, int64_t bytes) {
  Bytes to(static_cast<size_t>(bytes));
  device->copyOut(stream, to.data(), at(offset), bytes);
  synchronize();
  return to;
}

int Workbench::defineKernel(const device::KernelSpec &kernel) {
  device->defineKernel(kernel);
  return kernels++;
}

int Workbench::defineMatmul(const device::MatmulSpec &matmul) {
  device->defineMatmul(matmul);
  return matmuls++;
}

double Workbench::timeGraph(int graph) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  device->launchGraph(stream, graph);
  synchronize();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

} // namespace ppopt::gpu
