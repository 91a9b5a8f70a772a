//===- Device.h - What the estimates of time know of a device -------------===//

#ifndef PPOPT_ANALYSIS_DEVICE_H
#define PPOPT_ANALYSIS_DEVICE_H

#include "schema/device.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace mlir::pp {

using ::ppopt::schema::Device;

/// The name of the device that is compiled in.
inline constexpr llvm::StringLiteral kBuiltinDevice = "builtin";

/// Returns the device that is compiled in: a fit to one core of one processor
/// with AVX-512, the same for every shape and type.
const Device &getBuiltinDevice();

/// Returns the GPUs that are compiled in: "a100", "h100" and "h200".
ArrayRef<Device> getGpuDevices();
/// Returns one of them by its name; null for other names.
const Device *findGpu(StringRef name);
/// Returns the bytes of memory of one of them; nothing for other names.
std::optional<int64_t> getGpuMemory(StringRef name);

/// Reads a device's document. On an error, returns nothing and sets `error` to
/// what is wrong, beginning with the field.
std::optional<Device> readDevice(StringRef json, std::string &error);

/// Returns the device as each of `ranks` ranks on one machine finds it.
Device shareDevice(const Device &device, int64_t ranks);

/// Sets the device for which times of a module are estimated. The built-in
/// device is no attribute.
void setDevice(ModuleOp module, const Device &device);

/// Returns the device of the module that `op` is or is in.
Device getDevice(Operation *op);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_DEVICE_H
