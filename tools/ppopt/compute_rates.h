//===- compute_rates.h - Measures how fast this machine computes ----------===//

#ifndef PPOPT_TOOLS_COMPUTE_RATES_H
#define PPOPT_TOOLS_COMPUTE_RATES_H

#include "probe.h"

#include "ppopt/Analysis/Device.h"
#include "ppopt/machine_rate.h"

#include <map>

namespace ppopt {

/// A matmul that is measured, a time per round.
struct TimedMatmul {
  MatmulType type;
  MatmulSize size;
  bool isTransposed;
  int64_t padding;
  std::vector<double> times; ///< nanoseconds
};

/// The matmuls of a type: those of a grid of sizes, in its order, as they are
/// and transposed, and one whose first operand's rows are a multiple of a page
/// apart, without this and with it.
struct TimedGrid {
  explicit TimedGrid(MatmulType type);
  schema::MatmulRates makeRates(const mlir::pp::Device &device) const;

  MatmulType type;
  std::vector<int64_t> m, n, k;
  std::vector<TimedMatmul> matmuls;
};

/// A program whose kernels are measured, by name a time per round.
struct TimedProgram {
  Probe probe;
  std::map<std::string, std::pair<mlir::pp::Work, std::vector<double>>> kernels;
};

/// Measures how fast each of so many ranks computes while all of them do.
class RateMeasurement {
public:
  RateMeasurement(int64_t threads, int64_t ranks)
      : threads(threads), ranks(ranks) {}

  llvm::LogicalResult compile(const TemporaryFolder &folder,
                              const mlir::pp::CompilationSetup &setup);
  /// Adds a time to each kernel and each matmul.
  llvm::LogicalResult measureRound();
  /// Returns the rates that follow from the medians of the rounds.
  schema::ComputeRates getRates() const;
  /// Returns how many times as long as the fastest round the slowest took, by
  /// the mean over all kernels and matmuls.
  double getSpread() const;

private:
  const int64_t threads, ranks;
  std::vector<TimedProgram> programs;
  std::vector<TimedGrid> grids;
};

} // namespace ppopt

#endif // PPOPT_TOOLS_COMPUTE_RATES_H
