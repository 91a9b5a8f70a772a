//===- gpu.h - The GPU of a rank ------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_GPU_H
#define PPOPT_RUNTIME_DEVICE_CUDA_GPU_H

#include "device/cuda/driver_api.h"
#include "device/device_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::cuda {

/// Returns the UUIDs of the GPUs, or slices of GPUs (MIG), that the driver
/// shows to this process, by their numbers. Throws MissingDevice if there is
/// none.
std::vector<std::string> identifyGpus();

/// A GPU, or a slice of one (MIG), that the driver shows to this process
/// (CUDA_VISIBLE_DEVICES), and its context.
class Gpu {
public:
  /// Throws MissingDevice if the GPU is too old.
  explicit Gpu(const device::GpuChoice &choice);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  /// Makes its context the one of this thread. Each thread that calls the
  /// driver does so first.
  void enter() const;

  int64_t freeBytes() const;
  Context handle() const { return context; }

  const int number;   ///< among those of this process
  const int ranks;    ///< that use it
  std::string name;   ///< "NVIDIA H200"
  int capability = 0; ///< 90 for sm_90
  int multiprocessors = 0;
  int64_t sharedBytes = 0; ///< that a block may have
  int64_t bytes = 0;       ///< of memory

  /// For messages: "GPU 0 (NVIDIA H200)".
  std::string describe() const;

private:
  DeviceNumber device = 0;
  Context context = nullptr;
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_GPU_H
