//===- devices.h - The devices that ranks run on --------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_DEVICES_H
#define PPOPT_RUNTIME_EXECUTOR_DEVICES_H

#include "device/device.h"
#include "device/device_options.h"

#include <memory>
#include <string>
#include <vector>

namespace ppopt::runtime {

/// Makes the device of a rank for programs of a target (the plan's
/// `target.name`), wrapped by a module if there is one (device/module.h).
/// Throws Error if this runtime has none.
std::unique_ptr<device::Device>
makeDevice(const std::string &target, const device::DeviceOptions &options);

/// Returns the identities of the devices that ranks choose from, by their
/// numbers in this process; none if there is no choice, as for CPUs. Throws
/// MissingDevice if this machine has no device of the target at all.
std::vector<std::string> identifyDevices(const std::string &target);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_DEVICES_H
