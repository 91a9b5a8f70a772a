//===- Compile.h - From a model to an executable, phase by phase -*- C++
//-*-===//
//
// What the driver needs of the compiler. Nothing here reads the command line.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TARGET_COMPILE_H
#define PPOPT_TARGET_COMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
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

struct MeshAxis {
  std::string name;
  int64_t size;
};

/// What the user decides of a plan, checked one by one; whether they fit the
/// model is for the passes to say.
struct PlanOptions {
  /// Major to minor. Always has an axis "dp".
  SmallVector<MeshAxis> mesh = {{"dp", 1}};
  int64_t microbatches = 1;
  /// Rows of the global batch; unset: the model's.
  std::optional<int64_t> batch;
  /// A name of lib/Schedule's, or "table": that of `table`.
  std::string schedule = "1f1b";
  std::string table;         ///< CSV
  std::string tablePath;     ///< the file that it was read from
  std::optional<int> chunks; ///< stages a place, where the user said it
  /// The model is cut into so many pieces, each on that place; empty: as it is
  /// marked, or one a place.
  SmallVector<int64_t> stagePlaces;
  std::string launch = "ranks";    ///< ranks, local
  std::string tied = "sum";        ///< sum, owner
  std::string recompute = "cheap"; ///< none, cheap, layer
  std::string precision = "model"; ///< model, bf16
  /// Intermediate values of tasks that take more bytes are computed one block
  /// of rows after the other; unset: never.
  std::optional<int64_t> blockBytes = int64_t(64) << 20;
  /// Bytes that a rank has; unset: no limit.
  std::optional<int64_t> deviceMemory;
  std::string optimizer = "adamw"; ///< sgd, adam, adamw
  bool nesterov = false;           ///< with sgd only
  std::string target = "cpu";
  int64_t threads = 1; ///< of each rank
  /// As LLVM names them; never "native".
  std::string cpu;
  std::string features; ///< "+avx2,-avx512f,…"
  /// Test only: thresholds, as in "kernel-ops=1" (Analysis/Thresholds.def).
  std::string thresholds;
  /// The program that generates, instead of the one that trains.
  bool generates = false;
  /// What the user typed; the executable's --describe repeats it.
  std::string command;
  /// The model's file and its stem.
  std::string source, model;
  std::string modelHash; ///< hashModel of phase model's module

  /// The plan of the program that generates: one rank, whose threads and
  /// processor are those of this plan.
  PlanOptions forGenerator() const;
  /// Size of a mesh axis; 1 if the mesh has none of that name.
  int64_t getAxisSize(StringRef axis) const;
  /// Number of ranks: the product of the mesh's sizes.
  int64_t getRanks() const;
  /// What runs at a time: the ranks, or with launch local one process.
  int64_t getProcesses() const { return launch == "local" ? 1 : getRanks(); }
};

/// The pp dialect and all dialects that phases use, with the interfaces that
/// lowering to LLVM IR needs.
void registerCompilerDialects(DialectRegistry &registry);

/// Every pass of ours, and upstream's canonicalize, cse, inline and such, under
/// their command-line names.
void registerCompilerPasses();

/// Where whoever runs the phases may add passes to one: before its verifier, or
/// at its end. In a phase without a verifier both are its end.
enum class PhasePoint { BeforeVerifier, End };

/// Called at each point of each phase. `options.generates` says which of the
/// two programs goes through the phase.
using PhaseExtension =
    std::function<void(Phase phase, PhasePoint point,
                       const PlanOptions &options, OpPassManager &manager)>;

/// Appends the passes that take a module from the phase before to `phase` (for
/// Model: from what the parser gave), and the phase's verifier.
void buildPhasePipeline(Phase phase, OpPassManager &manager,
                        const PlanOptions &options,
                        const PhaseExtension &extend = {});

/// The program's JSON document (docs/program.md) that a module of phase native
/// carries; empty if it has none.
StringRef getProgramJson(ModuleOp native);

/// The module of phase native of an executable that cannot generate for this
/// reason.
OwningOpRef<ModuleOp> makeRefusedGeneration(MLIRContext *context,
                                            StringRef reason);

/// Links object files with the runtime in `prefix`/lib to an executable.
LogicalResult linkExecutable(ArrayRef<std::string> objects, StringRef prefix,
                             StringRef executable);

} // namespace mlir::pp

#endif // PPOPT_TARGET_COMPILE_H
