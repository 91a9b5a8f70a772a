//===- device_options.h - What a device is made of ------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_DEVICE_OPTIONS_H
#define PPOPT_RUNTIME_DEVICE_DEVICE_OPTIONS_H

#include <string>
#include <string_view>

namespace ppopt::device {

/// The code of a program's kernels for GPUs; empty in programs for CPUs.
struct DeviceCode {
  std::string_view ptx;   ///< text, ends with a zero
  std::string_view cubin; ///< for one architecture; empty: none
};

/// The GPU of a rank.
struct GpuChoice {
  int number = 0; ///< among those that its process sees
  int ranks = 1;  ///< that have it
};

struct DeviceOptions {
  int rank = 0;
  int threads = 1; ///< of the rank's team, on a CPU
  GpuChoice choice;
  DeviceCode code;
  std::string gpu; ///< the architecture of the cubin
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_DEVICE_OPTIONS_H
