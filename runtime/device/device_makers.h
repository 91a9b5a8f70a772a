//===- device_makers.h - The devices of the runtime, by target ------------===//
//
// An executable links the device of its target and what this needs, not the
// others: the runtime refers to them weakly, and the target has the linker look
// for its own (linkExecutable).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_DEVICE_MAKERS_H
#define PPOPT_RUNTIME_DEVICE_DEVICE_MAKERS_H

#include "device/device.h"
#include "device/device_options.h"

#include <string>
#include <vector>

extern "C" {

/// Each returns a new device of the rank. The caller owns it.
ppopt::device::Device *
ppopt_make_cpu_device(const ppopt::device::DeviceOptions &options);
ppopt::device::Device *
ppopt_make_cuda_device(const ppopt::device::DeviceOptions &options);

/// Returns the identities of the GPUs that this process sees, by their numbers.
/// Throws MissingDevice if this machine has no driver or no GPU.
void ppopt_identify_cuda_gpus(std::vector<std::string> &identities);
}

#endif // PPOPT_RUNTIME_DEVICE_DEVICE_MAKERS_H
