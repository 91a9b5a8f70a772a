//===- PlanOptions.h - What the user decides of a plan --------------------===//

#ifndef PPOPT_PROGRAM_PLANOPTIONS_H
#define PPOPT_PROGRAM_PLANOPTIONS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::pp {

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
  /// Test only: a bug to plant, so that the harnesses can be seen red.
  std::string plant;
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

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLANOPTIONS_H
