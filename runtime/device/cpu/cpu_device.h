//===- cpu_device.h - The CPU as a device ---------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_CPU_DEVICE_H
#define PPOPT_RUNTIME_DEVICE_CPU_CPU_DEVICE_H

#include "device/device.h"

#include <memory>

namespace ppopt::device {

/// Makes a device that runs each operation when it is enqueued, on a team of
/// `threads` threads of the calling thread. The host may access its memory.
std::unique_ptr<Device> makeCpuDevice(int threads);

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_CPU_CPU_DEVICE_H
