//===- devices.cpp - The devices that ranks run on ------------------------===//

#include "executor/devices.h"

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/module.h"

namespace ppopt::runtime {
namespace {

struct Entry {
  const char *target;
  std::unique_ptr<device::Device> (*make)(int threads, int rank);
};

constexpr Entry entries[] = {
    {"cpu", [](int threads, int) { return device::makeCpuDevice(threads); }},
};

} // namespace

std::unique_ptr<device::Device> makeDevice(const std::string &target,
                                           int threads, int rank) {
  for (const Entry &entry : entries)
    if (entry.target == target)
      return device::wrapByModule(entry.make(threads, rank), rank);
  throw Error("the program is for the target '{}', and this runtime has no "
              "device for it; compile the model again with this version",
              target);
}

} // namespace ppopt::runtime
