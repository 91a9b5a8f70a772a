//===- Curves.h - Runs of executables as curves ---------------------------===//
//
// Reads the `--log` files of executables (docs/running.md) and draws loss,
// gradient norm and throughput of one or several runs on one page.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_REPORT_CURVES_H
#define PPOPT_REPORT_CURVES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ppopt::curves {

/// By name.
using Metrics = std::map<std::string, double>;

/// Numbers are NaN where the log has null: not finite, or unknown.
struct Step {
  int64_t step; ///< from 1
  double loss, norm, perSecond, milliseconds;
  double staleness; ///< mean, of an asynchronous run; else NaN
  Metrics metrics;  ///< of its batch, if they were computed
};

struct Evaluation {
  int64_t step; ///< steps done before it
  double loss;
  Metrics metrics;
};

/// A training run that was killed and resumed is one run: where a later start
/// repeats steps, its entries replace the earlier ones.
struct Run {
  std::string name;        ///< the file's path
  std::string model;       ///< empty if the log does not say
  std::string plan;        ///< "dp=2,pp=2 · 4 ranks · adamw"
  std::string unit;        ///< of throughput: "tok", "samples"
  std::vector<Step> steps; ///< in increasing order
  std::vector<Evaluation> evaluations;
  std::vector<int64_t> resumed; ///< steps done before each later start
};

/// Reads a run. Errors name the file and the line.
llvm::Expected<Run> readRun(llvm::StringRef path);

/// Returns the page.
std::string writeCurves(llvm::ArrayRef<Run> runs);

} // namespace ppopt::curves

#endif // PPOPT_REPORT_CURVES_H
