//===- devices.cpp - Descriptions of devices, and where they lie ----------===//

#include "devices.h"

#include "ppopt/Codegen/Target.h"
#include "ppopt/Support/ReadFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Cluster;
using mlir::pp::Device;

std::string ppopt::getMachineModel() {
  if (auto file = MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    for (StringRef line : split((*file)->getBuffer(), '\n')) {
      auto [key, value] = line.split(':');
      if (key.trim() == "model name" && !value.trim().empty())
        return value.trim().str();
    }
  }
  return sys::getHostCPUName().str();
}

std::string ppopt::getMachineName(int64_t threads) {
  std::string name;
  for (char letter : getMachineModel()) {
    if (isAlnum(letter))
      name += toLower(letter);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  return StringRef(name).rtrim('-').str() + "-" + std::to_string(threads) +
         (threads == 1 ? "thread" : "threads");
}

std::string ppopt::getDevicePath(StringRef name) {
  SmallString<128> path;
  std::optional<std::string> config = sys::Process::GetEnv("XDG_CONFIG_HOME");
  // The specification of these folders ignores relative paths.
  if (config && sys::path::is_absolute(*config)) {
    path = *config;
  } else {
    sys::path::home_directory(path);
    sys::path::append(path, ".config");
  }
  sys::path::append(path, "ppopt", "devices", name + ".json");
  return path.str().str();
}

/// Reads the document of a device or a cluster. `origin` is what an error
/// begins with, and `command` writes a document that fits.
template <typename T>
static T readFile(StringRef path, StringRef origin,
                  std::optional<T> (*read)(StringRef, std::string &),
                  StringRef command, std::string &wrong) {
  auto file = readTextFile(path);
  if (!file) {
    wrong =
        (origin + ": cannot read " + path + ": " + toString(file.takeError()))
            .str();
    return {};
  }
  std::string error;
  if (auto document = read((*file)->getBuffer(), error))
    return *document;
  wrong = (origin + ": " + path + ": " + error + "; '" + command +
           "' writes a file that fits")
              .str();
  return {};
}

static Device readDeviceFile(StringRef path, StringRef origin,
                             std::string &wrong) {
  return readFile(path, origin, mlir::pp::readDevice, "ppopt machine -o FILE",
                  wrong);
}

/// Returns the device of this name, which may be a file.
static Device findDevice(StringRef value, StringRef origin,
                         std::string &wrong) {
  if (value == mlir::pp::kBuiltinDevice)
    return mlir::pp::getBuiltinDevice();
  if (const Device *gpu = mlir::pp::findGpu(value))
    return *gpu;
  if (isFile(value))
    return readDeviceFile(value, origin, wrong);
  std::string path = getDevicePath(value);
  if (sys::fs::exists(path))
    return readDeviceFile(path, origin, wrong);
  wrong = (origin + ": no device '" + value + "': there is no " + path +
           "; 'ppopt machine' measures this machine, and 'builtin', 'a100', "
           "'h100' and 'h200' are always there")
              .str();
  return {};
}

Device ppopt::chooseDevice(StringRef given,
                           const std::optional<Cluster> &cluster,
                           const mlir::pp::Machine &machine, bool isNative,
                           std::string &wrong) {
  std::string origin = "--device";
  if (given.empty() && cluster && !cluster->device.empty()) {
    given = cluster->device;
    origin = "the device of --cluster";
  }
  StringRef ofTarget = mlir::pp::findTarget(machine.name)->getDevice(machine);
  if (!given.empty()) {
    Device device = findDevice(given, origin, wrong);
    if (wrong.empty() && device.roofline != !ofTarget.empty())
      wrong = origin + " " + given.str() +
              (device.roofline
                   ? " describes a GPU; add --target cuda"
                   : " describes a CPU, and ranks of --target " + machine.name +
                         " run on GPUs; name one, as --device h100");
    return device;
  }
  if (!ofTarget.empty())
    return findDevice(ofTarget, "the device of the target", wrong);
  std::string value = sys::Process::GetEnv(kDeviceVariable).value_or("");
  if (!value.empty())
    return findDevice(value, kDeviceVariable, wrong);
  std::string measured = getDevicePath(getMachineName(machine.threads));
  if (!isNative || !sys::fs::exists(measured))
    return mlir::pp::getBuiltinDevice();
  return readDeviceFile(measured, "the device of this machine", wrong);
}

std::optional<Cluster> ppopt::chooseCluster(StringRef value,
                                            std::string &wrong) {
  if (value.empty())
    return std::nullopt;
  if (isFile(value))
    return readFile(value, "--cluster", mlir::pp::readCluster,
                    "ppopt machine --ranks N -o FILE", wrong);
  if (const Cluster *cluster = mlir::pp::findCluster(value))
    return *cluster;
  SmallVector<StringRef> known;
  for (const Cluster &cluster : mlir::pp::getClusters())
    known.push_back(cluster.name);
  known.push_back("FILE.json");
  wrong =
      ("--cluster: no cluster '" + value + "'" + suggest(value, known)).str();
  return std::nullopt;
}

std::string ppopt::describeDevice(const Device &device, int64_t threads) {
  std::string text = "times are estimated for the device '" + device.name + "'";
  if (device.name != mlir::pp::kBuiltinDevice)
    return text;
  return text + ", which is not this machine; 'ppopt machine --threads " +
         std::to_string(threads) + "' measures this machine";
}
