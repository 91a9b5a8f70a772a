//===- Compilation.h - Compiles a model under a plan ----------------------===//
//
//   PlanOptions plan;
//   plan.source = "model.mlir";
//   plan.mesh = {{"dp", 2}};
//   if (std::string wrong = completePlan(plan); !wrong.empty())
//     … // one line
//   Compilation compilation(plan);
//   if (failed(compilation.parse()) ||
//       failed(compilation.run(Phase::Native)) ||
//       failed(compilation.writeExecutable("train", temporaryFolder)))
//     … // errors have been printed
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DRIVER_COMPILATION_H
#define PPOPT_DRIVER_COMPILATION_H

#include "ppopt/Driver/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace mlir::pp {

/// What a program that compiles says beside the plan.
struct CompilationSetup {
  /// The folder with lib/libppopt_runtime.a; empty: the parent of the folder of
  /// this program.
  std::string prefix;
  /// Adds passes to phases; empty: none.
  PhaseExtension extend;
  /// A phase that warns fails.
  bool isStrict = false;
  /// The module is verified after each pass, not only at the end of each phase.
  bool verifiesPasses = false;
};

/// The stack that parsing and transforming a model needs, in bytes: both are
/// recursive, so it must not depend on `ulimit -s`. Untouched pages take no
/// memory.
inline constexpr unsigned kStackBytes = 512 << 20;

/// Owns a module and its diagnostics, which point into the user's file in every
/// phase. Every failure has printed at least one error to llvm::errs().
class Compilation {
public:
  /// `plan` is complete (completePlan).
  explicit Compilation(const PlanOptions &plan, CompilationSetup setup = {});
  ~Compilation();

  /// Reads, parses and verifies the model file of the plan.
  LogicalResult parse();

  /// Decides what the plan leaves to the compiler, before any phase has run:
  /// under a limit on memory the fastest of its choices of --recompute and
  /// --prefetch with which some schedule fits, and for --schedule auto the
  /// built-in schedule with the shortest predicted step that fits. Writes one
  /// line to `notes` for each decision, with what it was taken among.
  void choosePlan(raw_ostream &notes);

  /// Returns a copy of the parsed module after the phases up to and including
  /// `last` under another plan; null if a phase fails, or `after`, which is
  /// called at the end of each. Reports nothing; sets `reason` to the error's
  /// first line. A plan with a table has all checks; without proofs, a choice
  /// is to be compiled by run(), which has them.
  using AfterPhase = llvm::function_ref<LogicalResult(Phase, ModuleOp)>;
  OwningOpRef<ModuleOp> tryPlan(const PlanOptions &plan, Phase last,
                                std::string *reason = nullptr,
                                AfterPhase after = nullptr,
                                Checks checks = Checks::WithoutProofs);

  /// Returns a compilation of the parsed model in a context of its own, which
  /// works on one thread. It reads the text of this one, which has to outlive
  /// it.
  std::unique_ptr<Compilation> copyParsed() const;

  /// Replaces the plan, before any phase has run. `plan` is complete.
  void setPlan(const PlanOptions &plan) { this->plan = plan; }
  /// The same with a plan that a search has tried (tryPlan), with the flags
  /// that it chose: where run() fails, it says that this is a defect.
  void setTriedPlan(const PlanOptions &plan, std::string flags) {
    setPlan(plan);
    triedFlags = std::move(flags);
  }

  /// Runs phase model, and begins to compile the other programs, each on a
  /// thread of its own: with `generates` the one that generates, and if the
  /// model has outputs the one that predicts. If a folder is given, writes the
  /// phases of all to it, those of the others to
  /// "<folder>/generator-<number>-<phase>.mlir" and "predictor-…".
  void addPrograms(bool generates, StringRef dumpFolder = "");

  /// Runs the phases that have not run, up to and including `last`. If a folder
  /// is given, writes the module after each phase to
  /// "<folder>/<number>-<phase>.mlir", with locations.
  LogicalResult run(Phase last, StringRef dumpFolder = "");

  /// Makes an executable of the module, which has run all phases, and of the
  /// other programs. If the model cannot generate, or the program that does is
  /// left out, the executable says so when it is asked to. A model with outputs
  /// that can't predict is an error. Other files are written to `folder`. An
  /// existing file is replaced only if linking succeeds.
  LogicalResult writeExecutable(StringRef path, StringRef folder);

  ModuleOp getModule() { return *module; }
  const PlanOptions &getPlan() const { return plan; }
  /// Returns whether an error was reported.
  bool hasErrors() const { return errorCount > 0; }

private:
  struct Beside;

  /// Begins to compile another program, in a context of its own.
  std::unique_ptr<Beside> compileBeside(PlanOptions plan, StringRef name,
                                        StringRef dumpFolder);
  void runPhases(Beside &beside, const PlanOptions &plan, StringRef name,
                 StringRef hash, StringRef dumpFolder);
  LogicalResult reject(const Twine &message) const;
  /// Returns why rank 0 can't gather the parameters to generate: it has no
  /// memory for them. Empty if it can. The generator is compiled.
  std::string whyNotGathered() const;
  /// Runs one phase, with what comes after it.
  LogicalResult advance(Phase phase, StringRef dumpFolder);
  /// Runs the passes of one phase on `module`.
  LogicalResult runPhase(ModuleOp module, Phase phase, const PlanOptions &plan,
                         Checks checks = Checks::All);
  LogicalResult dump(ModuleOp module, Phase phase, StringRef folder,
                     StringRef prefix);

  PlanOptions plan;
  CompilationSetup setup;
  std::string triedFlags; ///< of setTriedPlan
  MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<SourceMgrDiagnosticHandler> diagnostics;
  /// The number of phases that have run.
  size_t phasesRun = 0;
  unsigned errorCount = 0, warningCount = 0;
  /// Whether an error was about the schedule file.
  bool citesTable = false;
  /// Whether a phase has failed.
  bool hasFailed = false;
  DiagnosticEngine::HandlerID counter = 0;
  OwningOpRef<ModuleOp> module;
  /// The arena of the first place, if axes cut parameters and memory is
  /// limited.
  std::optional<int64_t> cutArena;
  std::unique_ptr<Beside> generator, predictor; ///< or null
};

} // namespace mlir::pp

#endif // PPOPT_DRIVER_COMPILATION_H
