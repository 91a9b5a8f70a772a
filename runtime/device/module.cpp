//===- module.cpp - Modules that wrap devices -----------------------------===//

#include "device/module.h"

#include "base/error.h"
#include "base/loaded_module.h"
#include "device/module_abi.h"

#include <cstdlib>
#include <dlfcn.h>

namespace ppopt::device {

std::unique_ptr<Device> wrapByModule(std::unique_ptr<Device> device, int rank) {
  constexpr const char *variable = "PPOPT_DEVICE_MODULE";
  const char *path = std::getenv(variable);
  if (!path || !*path)
    return device;
  auto fail = [&](const std::string &why) {
    throw runtime::Error("{} ({}): {}", path, variable, why);
  };
  runtime::LoadedModule module(
      path, variable, RTLD_NOW | RTLD_LOCAL,
      "build it as test/runtime/device/CMakeLists.txt builds the fake device");
  int abi = module.find<decltype(ppopt_device_module_abi)>(
      "ppopt_device_module_abi")();
  if (abi != PPOPT_DEVICE_MODULE_ABI)
    fail(fmt::format("it is of another version ({}) than the executable ({}): "
                     "build both from the same sources",
                     abi, PPOPT_DEVICE_MODULE_ABI));
  auto *wrap = module.find<decltype(ppopt_wrap_device)>("ppopt_wrap_device");
  char error[512] = "";
  std::unique_ptr<Device> wrapped(
      wrap(device.release(), rank, error, sizeof error));
  if (!wrapped)
    fail(error);
  return wrapped;
}

} // namespace ppopt::device
