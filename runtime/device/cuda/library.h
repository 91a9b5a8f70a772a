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

#include <optional>
#include <string>

namespace ppopt::cuda {

/// Loads libcuda.so.1 and initialises it, once per process. Throws
/// MissingDevice if it is not there, too old, or finds no GPU.
const DriverApi &loadDriver();

/// The version of CUDA that the driver supports: 13000 is 13.0.
int driverVersionNumber();
/// The same as "13.0".
std::string driverVersion();

/// A version of CUDA's libcublasLt.so.
struct CublasLt {
  std::string name;               ///< "libcublasLt.so.13"
  std::optional<CublasLtApi> api; ///< none: it can't be loaded
  std::string missing;            ///< why not
};

/// Loads libcublasLt.so.`major`, 12 or 13, once per process. Throws
/// MissingDevice if it lacks a function.
const CublasLt &loadCublasLt(int major);

/// Loads libnccl.so.2, once per process. Throws MissingDevice if it is not
/// there, or lacks a function.
const NcclApi &loadNccl();

/// Returns an error of the driver in words, with its name.
std::string spell(DriverResult result);

/// Likewise of cuBLASLt: "not initialized (1)".
std::string spell(BlasResult result);

/// Throws Error if a call of the driver failed. `what` says what it was for.
void check(DriverResult result, const std::string &what);
/// Likewise of cuBLASLt.
void check(BlasResult result, const std::string &what);

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_LIBRARY_H
