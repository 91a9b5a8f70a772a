//===- devices.h - Descriptions of devices, and where they lie ------------===//

#ifndef PPOPT_TOOLS_DEVICES_H
#define PPOPT_TOOLS_DEVICES_H

#include "command_line.h"

#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Device.h"
#include "ppopt/Dialect/PP/Machine.h"

namespace ppopt {

/// The environment variable that stands for --device where it is not given.
inline constexpr const char *kDeviceVariable = "PPOPT_DEVICE";

/// Returns the model of this machine's processor, as the system names it.
std::string getMachineModel();

/// Returns the name under which `ppopt machine` keeps what it measures of this
/// machine with so many threads: "amd-epyc-9r14-2threads".
std::string getMachineName(int64_t threads);

/// Returns the file of a device in the user's configuration folder
/// ($XDG_CONFIG_HOME/ppopt/devices, or ~/.config/ppopt/devices).
std::string getDevicePath(llvm::StringRef name);

/// Returns the device of --device (`value`), that of the cluster if it names
/// one, or that of PPOPT_DEVICE: a name or a file. Without them, returns the
/// one that was measured on this machine with these threads, or the built-in
/// one if there is none or `isNative` is false: the program is not for this
/// machine. If ranks run on GPUs, that of their target is the default, and the
/// variable, which is for CPUs, is ignored. On an error, sets `wrong` to a line
/// that says what to do.
mlir::pp::Device chooseDevice(llvm::StringRef value,
                              const std::optional<mlir::pp::Cluster> &cluster,
                              const mlir::pp::Machine &machine, bool isNative,
                              std::string &wrong);

/// Returns the cluster of --cluster, a name or a file; nothing where it is
/// empty. On an error, sets `wrong` to a line that says what to do.
std::optional<mlir::pp::Cluster> chooseCluster(llvm::StringRef value,
                                               std::string &wrong);

/// Says for which device times are estimated, and how to measure this machine
/// if that is the built-in one.
std::string describeDevice(const mlir::pp::Device &device, int64_t threads);

} // namespace ppopt

#endif // PPOPT_TOOLS_DEVICES_H
