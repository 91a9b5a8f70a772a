//===- probe.h - Programs that are run to be timed ------------------------===//

#ifndef PPOPT_TOOLS_PROBE_H
#define PPOPT_TOOLS_PROBE_H

#include "driver.h"
#include "fit_rates.h"
#include "model_text.h"
#include "temporary_folder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace ppopt {

/// How the ranks of a probe are started.
enum class Ranks { AsThreads, AsProcesses };

/// A compiled GPT, which trains a few steps to be timed.
class Probe {
public:
  /// Writes to `folder`, in files that begin with `name`.
  Probe(const TemporaryFolder &folder, std::string name)
      : folder(folder), name(std::move(name)) {}

  /// Compiles the model under a plan. Prints what fails.
  llvm::LogicalResult compile(const GptModel &model, mlir::pp::PlanOptions plan,
                              const mlir::pp::CompilationSetup &setup);

  /// Returns the launches of rank 0, each with its mean time. Prints what
  /// fails.
  llvm::FailureOr<std::vector<TimedLaunch>> profile(Ranks how) const;

  /// Returns the events of a trace (docs/trace.md).
  llvm::FailureOr<llvm::json::Array> trace(Ranks how) const;

private:
  /// Runs the executable with these flags; prints its output if it fails.
  llvm::LogicalResult run(Ranks how, const std::string &flags) const;
  std::string path(llvm::StringRef suffix) const {
    return folder.path(name + suffix);
  }

  const TemporaryFolder &folder;
  std::string name;
  int64_t ranks = 1;
  llvm::StringMap<mlir::pp::Work> work; ///< of kernels and matmuls, by name
};

/// GPTs of one layer, whose tokens are bytes. Activations that fit in the
/// second-level cache, and some that do not; heads of two sizes, so that
/// attention's scores and its matmuls can be told apart; parameters that are in
/// no cache.
extern const GptModel kSmallGpt, kLargeGpt, kDoubleGpt, kFarGpt;

/// Returns a plan of so many ranks on one axis.
mlir::pp::PlanOptions makeProbePlan(int64_t threads, const char *axis,
                                    int64_t ranks);

/// Returns whether mpirun is there.
bool hasMpirun();

} // namespace ppopt

#endif // PPOPT_TOOLS_PROBE_H
