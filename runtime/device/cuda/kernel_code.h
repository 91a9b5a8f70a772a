//===- kernel_code.h - The kernels of a program on a GPU ------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_KERNEL_CODE_H
#define PPOPT_RUNTIME_DEVICE_CUDA_KERNEL_CODE_H

#include "device/cuda/driver_api.h"
#include "device/cuda/gpu.h"
#include "device/device_options.h"

#include <string>

namespace ppopt::cuda {

/// The code of an executable, loaded: its cubin if the driver takes it, else
/// its PTX, which the driver compiles, and keeps in its cache.
class KernelCode {
public:
  /// Throws Error if the driver takes neither. `architecture` is the cubin's,
  /// for messages. A program without kernels has no code.
  KernelCode(const device::DeviceCode &code, const std::string &architecture,
             const Gpu &gpu);
  ~KernelCode();
  KernelCode(const KernelCode &) = delete;
  KernelCode &operator=(const KernelCode &) = delete;

  /// Throws Error if there is no kernel of this name.
  Function find(const std::string &name) const;

  /// For the log: "kernels compiled for sm_90a".
  std::string describe() const { return origin; }
  /// Says why the driver refused a cubin for this GPU; empty if it did not.
  const std::string &fallback() const { return refusal; }

private:
  const Gpu &gpu;
  Module module = nullptr;
  std::string origin = "no kernels", refusal;
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_KERNEL_CODE_H
