//===- Compile.h - From a model to an executable, phase by phase ----------===//
//
// What the driver needs of the compiler. Nothing here reads the command line.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DRIVER_COMPILE_H
#define PPOPT_DRIVER_COMPILE_H

#include "ppopt/Program/PlanOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mlir::pp {

/// The phases in order; docs/architecture.md says what the module holds in
/// each.
enum class Phase {
  Model,
  Placed,
  Train,
  Partitioned,
  Scheduled,
  Kernels,
  Native
};

/// All phases, in the order in which a module goes through them.
ArrayRef<Phase> getPhases();
/// "model", "placed", …: as in --stop-after.
StringRef stringifyPhase(Phase phase);
std::optional<Phase> symbolizePhase(StringRef name);

/// The pp dialect and all dialects that phases use, with the interfaces that
/// lowering to LLVM IR needs.
void registerCompilerDialects(DialectRegistry &registry);

/// Every pass of ours, and upstream's canonicalize, cse, inline and such, under
/// their command-line names.
void registerCompilerPasses();

/// Appends the passes that take a module from the phase before to `phase` (for
/// Model: from what the parser gave), the phase's verifier last.
void buildPhasePipeline(Phase phase, OpPassManager &manager,
                        const PlanOptions &options);

/// Links object files with the runtime in `prefix`/lib to an executable.
LogicalResult linkExecutable(ArrayRef<std::string> objects, StringRef prefix,
                             StringRef executable);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_COMPILE_H
