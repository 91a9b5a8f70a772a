//===- library.h - NVIDIA's libraries, loaded when a program starts -------===//
//
// An executable for GPUs links none of them, so that it starts on a machine
// without them and says what is missing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_H
#define PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "device/cuda/cublaslt_api.h"
#include "device/cuda/driver_api.h"
#include "device/cuda/nccl_api.h"

#include <string>

namespace ppopt::cuda {

/// Loads libcuda.so.1 and initialises it, once per process. Throws
/// MissingDevice if it is not there, too old, or finds no GPU.
const DriverApi &loadDriver();

/// The version of the driver as "13.0".
std::string driverVersion();

/// Loads libcublasLt.so of version 13 or 12, once per process. Throws Error if
/// there is none, or it lacks a function (MissingDevice).
const CublasLtApi &loadCublasLt();

/// Loads libnccl.so.2, once per process. Throws MissingDevice if it is not
/// there, or lacks a function.
const NcclApi &loadNccl();

/// Throws Error if a call of the driver failed. `what` says what it was for.
void check(DriverResult result, const std::string &what);
/// Likewise of cuBLASLt.
void check(BlasResult result, const std::string &what);

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_H
/// Returns an error of the driver in words, with its name.
std::string spell(DriverResult result);

/// Likewise of cuBLASLt: "not initialized (1)".
std::string spell(BlasResult result);

