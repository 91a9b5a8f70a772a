//===- compilation.h - Runs the phases on a model -------------------------===//

#ifndef PPOPT_TOOLS_COMPILATION_H
#define PPOPT_TOOLS_COMPILATION_H

#include "ppopt/Driver/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace ppopt {

/// Owns a module and its diagnostics, which point into the user's file in every
/// phase. Every failure has printed at least one error.
class Compilation {
public:
  /// If `isStrict`, a phase that warns fails. `extend` adds passes to phases.
  Compilation(const mlir::pp::PlanOptions &options, bool isStrict,
              mlir::pp::PhaseExtension extend = {});
  ~Compilation();

  /// Reads, parses and verifies the model file of the options.
  llvm::LogicalResult parse();

  /// Sets the plan for the phases that have not run yet.
  void setPlan(const mlir::pp::PlanOptions &plan) { options = plan; }

  /// Returns the plan; it has the model's hash once phase model has run.
  const mlir::pp::PlanOptions &getPlan() const { return options; }

  /// Returns a copy of the parsed module after the phases up to and including
  /// `last` under another plan; null if a phase fails. Reports nothing; sets
  /// `reason` to the error's first line.
  mlir::OwningOpRef<mlir::ModuleOp> tryPlan(const mlir::pp::PlanOptions &plan,
                                            mlir::pp::Phase last,
                                            std::string *reason = nullptr);

  /// Runs the phases that have not run, up to and including `last`. If a folder
  /// is given, writes the module after each phase to
  /// "<folder>/<number>-<phase>.mlir", with locations.
  llvm::LogicalResult run(mlir::pp::Phase last,
                          llvm::StringRef dumpFolder = "");

  /// Returns the generating program, compiled from a copy of the parsed module
  /// up to phase native. If the model cannot generate, returns a module that
  /// says why. If a folder is given, writes the phases to
  /// "<folder>/generator-<number>-<phase>.mlir".
  mlir::OwningOpRef<mlir::ModuleOp>
  makeGenerator(llvm::StringRef dumpFolder = "");
  /// Returns a module that says that the user left the program out.
  mlir::OwningOpRef<mlir::ModuleOp> omitGenerator();

  mlir::ModuleOp getModule() { return *module; }

  /// Returns whether an error was reported.
  bool hasErrors() const { return errorCount > 0; }

private:
  /// Runs the passes of one phase on `module`.
  llvm::LogicalResult runPhase(mlir::ModuleOp module, mlir::pp::Phase phase,
                               const mlir::pp::PlanOptions &plan);
  llvm::LogicalResult dump(mlir::ModuleOp module, mlir::pp::Phase phase,
                           llvm::StringRef folder, llvm::StringRef prefix);

  mlir::pp::PlanOptions options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> diagnostics;
  bool isStrict;
  mlir::pp::PhaseExtension extend;
  /// The number of phases that have run.
  size_t phasesRun = 0;
  unsigned errorCount = 0, warningCount = 0;
  /// Whether an error was about the schedule file.
  bool citesTable = false;
  mlir::DiagnosticEngine::HandlerID counter = 0;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace ppopt

#endif // PPOPT_TOOLS_COMPILATION_H
