//===- module.cpp - The fake device as a module of executables ------------===//

#include "device/fake/fake_device.h"
#include "device/module_abi.h"

#include <cstdio>
#include <exception>

using namespace ppopt;

extern "C" int ppopt_device_module_abi() { return PPOPT_DEVICE_MODULE_ABI; }

extern "C" device::Device *ppopt_wrap_device(device::Device *inner, int rank,
                                             char *error, size_t errorBytes) {
  std::unique_ptr<device::Device> owned(inner);
  try {
    return new fake::FakeDevice(std::move(owned), rank, fake::readSettings());
  } catch (const std::exception &failure) {
    std::snprintf(error, errorBytes, "%s", failure.what());
    return nullptr;
  }
}
