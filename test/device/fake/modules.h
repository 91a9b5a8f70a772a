//===- modules.h - Kernels of fake GPUs -----------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_MODULES_H
#define PPOPT_TEST_DEVICE_FAKE_MODULES_H

#include "fake/emulator.h"
#include "fake/machine.h"

namespace ppopt::cuda::fake {

struct FakeModule {
  FakeContext *context = nullptr;
  DeviceProgram *program = nullptr;
  std::map<std::string, Function> functions;
};

struct FakeFunction {
  FakeContext *context = nullptr;
  DeviceProgram *program = nullptr;
  int kernel = 0;
  int mostDynamicShared = 48 * 1024;
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_MODULES_H
