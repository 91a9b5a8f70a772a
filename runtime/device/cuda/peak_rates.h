//===- peak_rates.h - What NVIDIA says its GPUs reach at most -------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_PEAK_RATES_H
#define PPOPT_RUNTIME_DEVICE_CUDA_PEAK_RATES_H

#include "device/device.h"

#include <string>

namespace ppopt::cuda {

/// Returns the rates in the data sheet of a GPU, by the driver's name of it, as
/// "NVIDIA H100 80GB HBM3"; zeros for one that is not known, or a slice of one.
/// Matmuls are dense; f32 is without TF32.
device::PeakRates findPeakRates(const std::string &gpu);

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_PEAK_RATES_H
