//===- gpu.h - The GPU of a rank ------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_GPU_H
#define PPOPT_RUNTIME_DEVICE_CUDA_GPU_H

#include "device/cuda/driver_api.h"
#include "device/device_options.h"

#include <cstdint>
#include <string>

namespace ppopt::cuda {

/// Returns how many GPUs the driver shows to this process. Throws MissingDevice
/// if there is none.
int countGpus();

/// A GPU, or a slice of one (MIG), that the driver shows to this process
/// (CUDA_VISIBLE_DEVICES), and its context.
class Gpu {
public:
  /// Chooses the GPU by the rank's number on this machine. Throws Error if
  /// there are fewer GPUs than ranks, unless they may share.
  Gpu(const device::MachineRank &rank, bool share);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  /// Makes its context the one of this thread. Each thread that calls the
  /// driver does so first.
  void enter() const;

  int64_t freeBytes() const;
  Context handle() const { return context; }

  int number = 0;     ///< among those of this process
  int ranks = 1;      ///< that use it
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
