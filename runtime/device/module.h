//===- module.h - Modules that wrap devices -------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_MODULE_H
#define PPOPT_RUNTIME_DEVICE_MODULE_H

#include "device/device.h"

#include <memory>

namespace ppopt::device {

/// Returns the device of a rank, wrapped by the module that the environment
/// names (PPOPT_DEVICE_MODULE); as it is if it names none. Throws Error if the
/// module cannot be loaded (base/loaded_module.h) or fails.
std::unique_ptr<Device> wrapByModule(std::unique_ptr<Device> device, int rank);

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_MODULE_H
