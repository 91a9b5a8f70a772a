//===- devices.cpp - The devices that ranks run on ------------------------===//

#include "executor/devices.h"

#include "base/error.h"
#include "device/device_makers.h"
#include "device/module.h"

#pragma weak ppopt_make_cpu_device
#pragma weak ppopt_make_cuda_device
#pragma weak ppopt_identify_cuda_gpus

namespace ppopt::runtime {
namespace {

struct Entry {
  const char *target;
  decltype(&ppopt_make_cpu_device) make; ///< null: not linked
  /// Null: there is no choice.
  decltype(&ppopt_identify_cuda_gpus) identify;
};

const Entry &findEntry(const std::string &target) {
  static const Entry entries[] = {
      {"cpu", ppopt_make_cpu_device, nullptr},
      {"cuda", ppopt_make_cuda_device, ppopt_identify_cuda_gpus}};
  for (const Entry &entry : entries)
    if (entry.make && entry.target == target)
      return entry;
  throw Error("the program is for the target '{}', and this runtime has no "
              "device for it; compile the model again with this version",
              target);
}

} // namespace

std::unique_ptr<device::Device>
makeDevice(const std::string &target, const device::DeviceOptions &options) {
  std::unique_ptr<device::Device> made(findEntry(target).make(options));
  return device::wrapByModule(std::move(made), options.rank);
}

std::vector<std::string> identifyDevices(const std::string &target) {
  std::vector<std::string> identities;
  if (const Entry &entry = findEntry(target); entry.identify)
    entry.identify(identities);
  return identities;
}

} // namespace ppopt::runtime
