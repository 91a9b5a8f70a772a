//===- goodput.h - What failures and a slow rank leave of a plan's step ---===//

#ifndef PPOPT_TOOLS_GOODPUT_H
#define PPOPT_TOOLS_GOODPUT_H

#include "command_line.h"

#include "ppopt/Driver/PlanOptions.h"
#include "ppopt/Driver/PlanReport.h"

namespace ppopt {

/// The flags --mtbf, --slow-rank and those that go with them, and what `ppopt
/// plan` prints for them.
class GoodputFlags {
public:
  explicit GoodputFlags(CommandLine &line);

  /// Returns what is wrong with the flags of the parsed command line together,
  /// empty if nothing.
  std::string check(const mlir::pp::PlanOptions &plan) const;

  /// Returns the text, empty if no flag is given. The module is the report's,
  /// in phase kernels. Fails, with an error, if failures leave next to nothing.
  llvm::FailureOr<std::string>
  describe(const mlir::pp::PlanOptions &plan, mlir::ModuleOp module,
           const mlir::pp::PlanReport &report) const;

private:
  llvm::LogicalResult describeFailures(const mlir::pp::PlanOptions &plan,
                                       const mlir::pp::PlanReport &report,
                                       llvm::raw_ostream &out) const;
  llvm::LogicalResult describeSlowRank(const mlir::pp::PlanOptions &plan,
                                       mlir::ModuleOp module,
                                       const mlir::pp::PlanReport &report,
                                       llvm::raw_ostream &out) const;

  CommandLine &line;
  std::optional<double> hours, checkpointTime, restartTime, slowness;
  int64_t checkpointRate = 1000000000; ///< bytes per second
};

} // namespace ppopt

#endif // PPOPT_TOOLS_GOODPUT_H
