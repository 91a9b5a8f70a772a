//===- read_bundle.h - Reads the files of a bundle ------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_READ_BUNDLE_H
#define PPOPT_TEST_GPU_KERNELS_READ_BUNDLE_H

#include "bundle.h"

namespace ppopt::gpu {

struct LoadedBundle : Bundle {
  std::vector<double> samples;
  std::string folder;
};

/// Reads and checks the manifest and the samples. Throws runtime::Error.
LoadedBundle readBundle(const std::string &folder);

/// Returns the contents of a file of the folder. Throws runtime::Error.
std::string readFile(const std::string &folder, const std::string &name);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_READ_BUNDLE_H
