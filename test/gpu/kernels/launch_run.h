//===- launch_run.h - Runs one kernel or matmul on the GPU ----------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_LAUNCH_RUN_H
#define PPOPT_TEST_GPU_KERNELS_LAUNCH_RUN_H

#include "compare.h"
#include "workbench.h"

namespace ppopt::gpu {

/// What is found out about a launch.
struct LaunchFindings {
  std::vector<std::string> wrong; ///< empty: it does what is expected
  std::vector<Comparison> results;
  bool hasSameBits = false; ///< in two runs
  double seconds = 0;       ///< 0: not measured
};

/// A launch with its buffers in the workbench's memory. Between buffers lie
/// guards, which nobody may write.
class LaunchRun {
public:
  /// Throws runtime::Error if the device can't run it.
  LaunchRun(Workbench &bench, const Launch &launch, int64_t seed);

  /// Returns the memory that a launch takes.
  static int64_t bytesOf(const Launch &launch);

  /// Runs it twice with the same contents. Throws runtime::Error if the device
  /// fails; it may then be of no use.
  LaunchFindings run(const std::vector<double> &samples, bool measuresTime);

private:
  /// What is in the memory that a launch has not written.
  static constexpr uint8_t poisons[] = {0xff, 0xa5};

  void define();
  void enqueue();
  void prepare(uint8_t poison);
  void checkGuards(uint8_t poison, LaunchFindings &findings);
  void checkArguments(LaunchFindings &findings);
  Bytes readBuffer(size_t number);

  Workbench &bench;
  const Launch &launch;
  const int64_t seed;
  std::vector<int64_t> offsets; ///< of the buffers
  int64_t end = 0, workspace = 0;
  std::vector<Bytes> contents; ///< of the buffers that are read
  std::vector<void *> arguments;
  int number = -1;
};

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_LAUNCH_RUN_H
