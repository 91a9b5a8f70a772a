//===- Compile.h - From a model to an executable, phase by phase ----------===//
//
// The driver's interface to the compiler. Nothing here reads the command line.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DRIVER_COMPILE_H
#define PPOPT_DRIVER_COMPILE_H

#include "ppopt/Driver/PlanOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <optional>
#include <string>

namespace mlir::pp {

/// The phases in order; docs/architecture.md describes the module in each.
enum class Phase {
  Model,
  Placed,
  Train,
  Partitioned,
  Scheduled,
  Kernels,
  Native
};

/// Returns all phases, in the order in which a module goes through them.
ArrayRef<Phase> getPhases();
/// Returns "model", "placed", …: the names that --stop-after takes.
StringRef stringifyPhase(Phase phase);
std::optional<Phase> symbolizePhase(StringRef name);

/// Registers the pp dialect and all dialects that phases use, with the
/// interfaces that lowering to LLVM IR needs.
void registerCompilerDialects(DialectRegistry &registry);

/// Registers every pass of ours, and upstream's canonicalize, cse, inline and
/// others, under their command-line names.
void registerCompilerPasses();

/// The point at which a caller may add passes to a phase: before its verifier,
/// or at its end. In a phase without a verifier both are its end.
enum class PhasePoint { BeforeVerifier, End };

/// Called at each point of each phase. `options.program` says which of the
/// programs is compiled.
using PhaseExtension =
    std::function<void(Phase phase, PhasePoint point,
                       const PlanOptions &options, OpPassManager &manager)>;

/// What the verifiers of phases check: all that the next phase takes for
/// granted, or only what does not follow from decisions of the compiler alone.
/// A plan that is tried is compiled without the proofs; the one that is taken
/// is compiled with them.
enum class Checks { All, WithoutProofs };

/// Appends the passes that take a module from the preceding phase (for Model:
/// from the parser) to `phase`, and the phase's verifier.
void buildPhasePipeline(Phase phase, OpPassManager &manager,
                        const PlanOptions &options,
                        const PhaseExtension &extend = {},
                        Checks checks = Checks::All);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_COMPILE_H
