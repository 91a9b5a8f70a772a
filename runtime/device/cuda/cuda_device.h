//===- cuda_device.h - A GPU of NVIDIA as a device ------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H
#define PPOPT_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H

#include "device/device.h"
#include "device/device_options.h"

#include <memory>

namespace ppopt::device {

/// Makes a device of the rank's GPU (cuda/gpu.h). Loads the driver; cuBLASLt
/// with the first matmul of the library. Throws MissingDevice if the machine
/// has no driver or no GPU, and Error if there are fewer GPUs than ranks.
std::unique_ptr<Device> makeCudaDevice(const DeviceOptions &options);

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H
