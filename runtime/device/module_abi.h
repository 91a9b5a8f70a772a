//===- module_abi.h - The ABI of modules that wrap devices ----------------===//

#ifndef PPOPT_RUNTIME_DEVICE_MODULE_ABI_H
#define PPOPT_RUNTIME_DEVICE_MODULE_ABI_H

#include "device/device.h"

#include <cstddef>

/// The version of device.h as the module sees it. Increment it with every
/// change to the classes and structs there.
#define PPOPT_DEVICE_MODULE_ABI 6

extern "C" {

/// Returns the module's own PPOPT_DEVICE_MODULE_ABI.
int ppopt_device_module_abi();

/// Returns a device that uses and owns `inner`, the device of a rank. On
/// failure deletes `inner`, and returns null and one line in `error`.
ppopt::device::Device *ppopt_wrap_device(ppopt::device::Device *inner, int rank,
                                         char *error, size_t errorBytes);
}

#endif // PPOPT_RUNTIME_DEVICE_MODULE_ABI_H
