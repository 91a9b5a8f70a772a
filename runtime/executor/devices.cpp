//===- devices.cpp - The devices that ranks run on ------------------------===//

#include "executor/devices.h"

#include "base/error.h"
#include "device/device_makers.h"
#include "device/module.h"

#pragma weak ppopt_make_cpu_device
#pragma weak ppopt_make_cuda_device
#pragma weak ppopt_check_cuda_machine

namespace ppopt::runtime {
namespace {

struct Entry {
  const char *target;
  decltype(&ppopt_make_cpu_device) make; ///< null: not linked
  void (*check)();                       ///< null: nothing to check
};

const Entry &findEntry(const std::string &target) {
  static const Entry entries[] = {
      {"cpu", ppopt_make_cpu_device, nullptr},
      {"cuda", ppopt_make_cuda_device, ppopt_check_cuda_machine}};
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

void checkMachineFor(const std::string &target) {
  if (const Entry &entry = findEntry(target); entry.check)
    entry.check();
}

} // namespace ppopt::runtime
