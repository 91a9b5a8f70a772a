//===- settings.h - What the environment asks of the fake libraries -------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_SETTINGS_H
#define PPOPT_TEST_DEVICE_FAKE_SETTINGS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::cuda::fake {

/// The algorithms that the fake cuBLASLt has (cublaslt.h).
inline constexpr size_t matmulAlgorithms = 4;

struct GpuSettings {
  std::string name = "Fake GPU";
  int major = 9, minor = 0; ///< of its compute capability
  size_t memoryBytes = size_t(2) << 30;
  int multiprocessors = 132;
  int uuid = -1; ///< the last byte of its UUID; -1: its number

  /// The most bytes of shared memory that a block may ask for.
  int mostSharedBytes() const;
};

/// A bug that is put into the libraries, or an error that they return.
struct Plant {
  enum class Kind {
    dropWait,
    dropRecord,
    dropGraphDestroy,
    swapNccl,
    loneAborts,
    hostRead,
    dropLaunch,
    ownUuid,
    fail
  };
  Kind kind = Kind::fail;
  int64_t number = 0; ///< of the call, or group of calls, from 1
  int gpu = -1;       ///< -1: of any
  std::string symbol; ///< of a call that fails; of a kernel
  int code = 0;       ///< which the call returns
};

/// README.md lists the variables.
struct Settings {
  std::vector<GpuSettings> gpus; ///< of the machine, visible or not
  int driverVersion = 13000;
  bool checksAll = false;
  bool acceptsCubin = false;
  double patience = 60; ///< seconds after which a wait is reported
  /// Ranks connect in their first operation with one another, as NCCL does.
  bool connectsLate = true;
  /// Of a matmul by each of cuBLASLt's algorithms. If given, the times of
  /// events are counted: an operation takes a microsecond, a matmul these.
  std::vector<int> matmulMicroseconds;
  uint64_t seed = 0;
  std::vector<std::string> code; ///< files of LLVM IR
  std::string objects;           ///< a folder of compiled kernels; empty: none
  std::vector<Plant> plants;
  std::string report; ///< a file; empty: none
};

/// Throws std::runtime_error if a variable has a value that means nothing.
Settings readSettings();

/// Returns the GPUs that CUDA_VISIBLE_DEVICES names, in its order.
/// `uuids`: those of all GPUs, as text.
std::vector<int> readVisibleDevices(const std::vector<std::string> &uuids);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_SETTINGS_H
