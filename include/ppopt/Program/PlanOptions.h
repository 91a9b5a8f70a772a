//===- PlanOptions.h - The user's decisions about a plan ------------------===//

#ifndef PPOPT_PROGRAM_PLANOPTIONS_H
#define PPOPT_PROGRAM_PLANOPTIONS_H

#include "geometry/mesh.h"
#include "mlir/Support/LLVM.h"
#include "ppopt/Analysis/Device.h"
#include "ppopt/Dialect/PP/Machine.h"
#include "ppopt/Dialect/PP/PlanChoices.h"
#include "ppopt/Dialect/PP/PlanContradiction.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::pp {

/// The user's decisions about a plan, each valid by itself. Passes check
/// whether they fit the model.
struct PlanOptions : PlanChoices {
  /// Always has geometry::batchAxis.
  ::ppopt::geometry::Mesh mesh = {
      {std::string(::ppopt::geometry::batchAxis), 1}};
  int64_t microbatches = 1;
  /// Rows of the global batch; unset: the model's.
  std::optional<int64_t> batch;
  /// A name from lib/Schedule, or "table": the schedule in `table`.
  std::string schedule = "1f1b";
  std::string table;         ///< CSV
  std::string tablePath;     ///< the file that it was read from
  std::optional<int> chunks; ///< stages per place, if given
  /// The place of each piece that the model is cut into; empty: as marked in
  /// the model, or one per place.
  SmallVector<int64_t> stagePlaces;
  /// Intermediate values of tasks that take more bytes are computed one block
  /// of rows at a time; unset: never.
  std::optional<int64_t> blockBytes = int64_t(64) << 20;
  /// Bytes of memory per rank; unset: no limit.
  std::optional<int64_t> deviceMemory;
  Machine target;
  /// The device for which times are estimated.
  Device device = getBuiltinDevice();
  /// Test only: thresholds, as in "kernel-ops=1" (Analysis/Thresholds.def).
  std::string thresholds;
  /// Compile the program that generates, instead of the one that trains.
  bool generates = false;
  /// The user's command line; the executable's --describe repeats it.
  std::string command;
  /// The model's file and its stem.
  std::string source, model;
  std::string modelHash; ///< hashModel of the module in phase model

  /// Returns the plan of the program that generates: one rank, with this plan's
  /// threads and CPU.
  PlanOptions forGenerator() const;
  /// Returns the number of processes: the ranks, or one with launch local.
  int64_t getProcesses() const {
    return launch == Launch::local ? 1 : mesh.ranks();
  }
  /// Returns the number of trainers, each of which has a part of the batch and
  /// runs at its own pace; 1 if all ranks run in step.
  int64_t getTrainers() const {
    return sync == Sync::step ? 1 : mesh.size(::ppopt::geometry::batchAxis);
  }
};

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLANOPTIONS_H
