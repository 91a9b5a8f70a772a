//===- KernelReports.h - What each kernel of a step takes -----------------===//

#ifndef PPOPT_LIB_DRIVER_KERNELREPORTS_H
#define PPOPT_LIB_DRIVER_KERNELREPORTS_H

#include "ppopt/Analysis/Device.h"
#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Program/Places.h"

namespace mlir::pp {

/// Returns the kernels and matmuls of a place's training step, in phase
/// kernels, the longest first.
std::vector<KernelReport> describeKernels(ModuleOp module,
                                          const PlaceContents &contents,
                                          const Device &device);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_KERNELREPORTS_H
