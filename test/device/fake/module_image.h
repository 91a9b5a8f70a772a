//===- module_image.h - PTX and cubins
//--------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_MODULE_IMAGE_H
#define PPOPT_TEST_DEVICE_FAKE_MODULE_IMAGE_H

#include "fake/machine.h"

#include <set>

namespace ppopt::cuda::fake {

/// What a module says of itself. Refuses what the driver refuses for a GPU.
struct ModuleImage {
  ModuleImage(const void *image, const GpuSettings &gpu,
              const Settings &settings);
  std::set<std::string> kernels;

private:
  void readPtx(const char *text, const GpuSettings &gpu,
               const Settings &settings);
  void readCubin(const char *bytes);
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_MODULE_IMAGE_H
