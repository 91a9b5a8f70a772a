//===- KernelLaunch.h - How a kernel of a module is launched --------------===//

#ifndef PPOPT_TEST_DEVICE_KERNELLAUNCH_H
#define PPOPT_TEST_DEVICE_KERNELLAUNCH_H

#include "Emulation.h"
#include "KernelModule.h"

namespace emulated {

/// Returns a launch of all blocks. `inputs`: the contents of the arguments,
/// which must outlive it; empty: zeros.
EmulatedLaunch makeLaunch(const KernelDescription &kernel,
                          const KernelCode &code, llvm::ArrayRef<Bytes> inputs);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_KERNELLAUNCH_H
