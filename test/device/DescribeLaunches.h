//===- DescribeLaunches.h - Kernels and matmuls for a runner on GPUs ------===//

#ifndef PPOPT_TEST_DEVICE_DESCRIBELAUNCHES_H
#define PPOPT_TEST_DEVICE_DESCRIBELAUNCHES_H

#include "KernelModule.h"
#include "bundle.h"

namespace emulated {

/// Returns a launch of a kernel, without expectations. Each argument has a
/// buffer; so has each result that is not in place of an argument.
llvm::Expected<::ppopt::gpu::Launch>
describeLaunch(const KernelDescription &kernel);

/// Likewise of a matmul. Its buffers are A, B and C.
::ppopt::gpu::Launch describeLaunch(const MatmulDescription &matmul);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_DESCRIBELAUNCHES_H
