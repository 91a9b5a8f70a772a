//===- emulator.h - Runs kernels for the fake driver ----------------------===//
//
// Between the fake driver and the emulated device, which is written with LLVM
// and without exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_EMULATOR_H
#define PPOPT_TEST_DEVICE_FAKE_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ppopt::cuda::fake {

struct KernelInfo {
  std::string name;
  unsigned threads = 0, arguments = 0;
  size_t sharedBytes = 0; ///< without those of the launch
};

/// Memory that a launch may touch.
struct MemoryRange {
  std::string name;
  char *begin = nullptr;
  size_t bytes = 0;
};

struct KernelRun {
  int kernel = 0;
  unsigned grid = 0;
  size_t sharedBytes = 0; ///< that the launch adds
  std::vector<void *> arguments;
  std::vector<MemoryRange> memory;
  uint64_t seed = 0; ///< draws the order of blocks and threads
};

/// The kernels of a file of LLVM IR that `--save-device-ir` wrote.
class DeviceProgram {
public:
  /// Sets `error` if the file cannot be used. `objects`: where compiled kernels
  /// are kept; empty: nowhere.
  DeviceProgram(const std::string &path, bool checksAll,
                const std::string &objects, std::string &error);
  ~DeviceProgram();

  const std::vector<KernelInfo> &kernels() const { return infos; }
  /// Compiles the kernel if it is the first time. Returns what is wrong, or an
  /// empty string.
  std::string run(const KernelRun &run);

private:
  struct Code;
  std::unique_ptr<Code> code;
  std::vector<KernelInfo> infos;
  bool checksAll;
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_EMULATOR_H
