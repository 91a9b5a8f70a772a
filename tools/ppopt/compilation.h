//===- compilation.h - A model on its way through the phases --------------===//

#ifndef PPOPT_TOOLS_COMPILATION_H
#define PPOPT_TOOLS_COMPILATION_H

#include "ppopt/Driver/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace ppopt {

/// Owns a module and the diagnostics about it, which point into the user's file
/// in every phase. Every failure has printed at least one error.
class Compilation {
public:
  /// With `isStrict` a phase that warns fails.
  explicit Compilation(const mlir::pp::PlanOptions &options, bool isStrict);
  ~Compilation();

  /// Reads, parses and verifies the model file of the options.
  llvm::LogicalResult parse();

  /// The plan of all phases that are still to run.
  void setPlan(const mlir::pp::PlanOptions &plan) { options = plan; }

  /// With the model's hash, once phase model has run.
  const mlir::pp::PlanOptions &getPlan() const { return options; }

  /// A copy of the parsed module, taken through the phases up to and including
  /// `last` under another plan; null where that fails. Nothing is reported:
  /// `reason` is the error's first line.
  mlir::OwningOpRef<mlir::ModuleOp> tryPlan(const mlir::pp::PlanOptions &plan,
                                            mlir::pp::Phase last,
                                            std::string *reason = nullptr);

  /// Runs the phases that have not run, up to and including `last`. With a
  /// folder, writes the module after each phase to
  /// "<folder>/<number>-<phase>.mlir", with locations.
  llvm::LogicalResult run(mlir::pp::Phase last,
                          llvm::StringRef dumpFolder = "");

  /// A copy of the parsed module as the program that generates, of phase
  /// native. Where the model can't generate, a module that says why. With a
  /// folder, writes the phases to "<folder>/generator-<number>-<phase>.mlir".
  mlir::OwningOpRef<mlir::ModuleOp>
  makeGenerator(llvm::StringRef dumpFolder = "");

  mlir::ModuleOp getModule() { return *module; }

  /// Whether anything was reported as an error.
  bool hasErrors() const { return errorCount > 0; }

private:
  llvm::LogicalResult dump(mlir::ModuleOp module, mlir::pp::Phase phase,
                           llvm::StringRef folder, llvm::StringRef prefix);

  mlir::pp::PlanOptions options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> diagnostics;
  bool isStrict;
  /// How many phases the module went through.
  size_t phasesRun = 0;
  unsigned errorCount = 0, warningCount = 0;
  /// Whether an error was about the schedule's file.
  bool citesTable = false;
  mlir::DiagnosticEngine::HandlerID counter = 0;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace ppopt

#endif // PPOPT_TOOLS_COMPILATION_H
