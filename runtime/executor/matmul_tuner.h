//===- matmul_tuner.h - Measures the algorithms of matmuls ----------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_MATMUL_TUNER_H
#define PPOPT_RUNTIME_EXECUTOR_MATMUL_TUNER_H

#include "device/matmul_library.h"
#include "executor/matmul_uses.h"

#include <optional>
#include <utility>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

/// The fastest algorithm of a matmul, and times of one launch.
struct FastestAlgorithm {
  device::MatmulAlgorithm algorithm;
  double microseconds = 0;
  double heuristicMicroseconds = 0; ///< of the heuristic's first choice
};

/// Measures matmuls of the program on a rank's device, before parameters are
/// initialised: operands lie anywhere in the arena.
class MatmulTuner {
public:
  /// The device has a clock and a matmul library.
  explicit MatmulTuner(ppopt_rank &rank);
  /// Fills the arena with zeros again.
  void finish();

  /// Measures up to `mostAlgorithms`. Of several that are equally fast takes
  /// the one that the heuristic prefers. Returns nullopt if the arena has no
  /// room for the operands: they are those of a task of another place. The
  /// device goes on with the last algorithm that was measured.
  std::optional<FastestAlgorithm> measure(const MatmulUse &use);

  static constexpr int mostAlgorithms = 8;

private:
  struct Operands {
    device::DevicePointer a, b, c, workspace;
  };

  std::optional<Operands> placeOperands(const MatmulUse &use) const;
  void fill(device::DevicePointer at, int64_t bytes, int64_t elementBytes);
  /// Returns the microseconds of one launch.
  double measure(int matmul, const Operands &operands);

  ppopt_rank &rank;
  device::MatmulLibrary &library;
  device::DevicePointer arena;
  int64_t arenaBytes = 0;
  std::vector<std::pair<device::TimePoint, device::TimePoint>> points;
  int64_t filledFor = 0; ///< bytes of the elements that the host's piece has
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_MATMUL_TUNER_H
