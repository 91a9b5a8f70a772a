//===- PlanOptions.h - The user's decisions about a plan ------------------===//

#ifndef PPOPT_DRIVER_PLANOPTIONS_H
#define PPOPT_DRIVER_PLANOPTIONS_H

#include "geometry/mesh.h"
#include "mlir/Support/LLVM.h"
#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Device.h"
#include "ppopt/Dialect/PP/Machine.h"
#include "ppopt/Dialect/PP/PlanChoices.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Transforms/Sharding/TransferCuts.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <limits>
#include <optional>
#include <string>

namespace mlir::pp {

/// The user's decisions about a plan. completePlan fills in what follows from
/// them and checks them; passes check whether they fit the model.
struct PlanOptions : PlanChoices {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  /// Each action of a schedule is an op in the IR and an action in the program.
  static constexpr int64_t kMostMicrobatches = 4096;

  /// Always has geometry::batchAxis.
  ::ppopt::geometry::Mesh mesh = {
      {std::string(::ppopt::geometry::batchAxis), 1}};
  int64_t microbatches = 1;
  /// Rows of the global batch; unset: the model's.
  std::optional<int64_t> batch;
  /// A name from lib/Schedule, "auto" (Compilation::choosePlan), or "table".
  std::string schedule = "1f1b";
  std::optional<::ppopt::schedule::Table> table; ///< see setTable
  std::string tablePath;         ///< the file that it was read from
  std::optional<int64_t> chunks; ///< stages per place, if given
  /// The place of each piece that the model is cut into; empty: as marked in
  /// the model, or one per place. It follows from the schedule.
  SmallVector<int64_t> stagePlaces;
  /// Shardings of parameters and inputs, "GLOB=SHARDING; …", in place of those
  /// that the model has.
  std::string shard;
  /// What trains differently, in place of what the model says: "GLOB; …" of
  /// parameters that are frozen, "GLOB=FACTOR; …" of the learning rate and of
  /// the weight decay.
  std::string freeze, lrScale, decay;
  TransferCuts cutTransfers = TransferCuts::Auto;
  /// Intermediate values of tasks that take more bytes are computed one block
  /// of rows at a time; unset: as the target says.
  std::optional<int64_t> blockBytes;
  /// Bytes of memory per rank; unset: no limit.
  std::optional<int64_t> deviceMemory;
  /// With a limit: `recompute` and `prefetch` are chosen (choosePlan).
  bool choosesRecompute = false, choosesPrefetch = false;
  /// Without a name it is the default target; with 0 threads, ranks share this
  /// machine's cores; without a CPU, or with "native", it is this machine's;
  /// without a GPU, the target's default.
  Machine target;
  /// The device for which times are estimated.
  Device device = getBuiltinDevice();
  /// The cluster that ranks are on; unset: one machine.
  std::optional<Cluster> cluster;
  /// Test only: thresholds, as in "kernel-ops=1" (Analysis/Thresholds.def).
  std::string thresholds;
  /// Which program of the executable is compiled. Its batch is a part of the
  /// plan's.
  ProgramKind program = ProgramKind::Training;
  int64_t batchParts = 1;
  /// The user's command line; the executable's --describe repeats it.
  std::string command;
  std::string source; ///< the model's file

  /// Returns the plan of the program that generates: one rank, with this plan's
  /// threads and CPU.
  PlanOptions forGenerator() const;
  /// Returns the plan of the program that predicts: the same ranks, which
  /// compute the forwards of one microbatch at a time.
  PlanOptions forPredictor() const;
  /// Returns the number of processes: the ranks, or one with launch local.
  int64_t getProcesses() const {
    return launch == Launch::local ? 1 : mesh.ranks();
  }
  /// Returns how many processes of one machine work at a time.
  int64_t getNeighbours() const;
  /// Returns the number of trainers, each of which has a part of the batch and
  /// runs at its own pace; 1 if all ranks run in step.
  int64_t getTrainers() const {
    return sync == Sync::step ? 1 : mesh.size(::ppopt::geometry::batchAxis);
  }
};

/// Sets a built-in schedule, and the places of its stages if it has several per
/// place. Returns an error (one line), empty on success.
std::string setSchedule(PlanOptions &plan, StringRef name);

/// Sets the schedule of a table, with its places, stages and microbatches. A
/// mesh that has the axis of places must agree. Returns an error.
std::string setTable(PlanOptions &plan, ::ppopt::schedule::Table table);

/// Sets what follows from the options: the machine, the places of stages.
/// Returns an error if they are out of range or contradict one another: one
/// line, which names flags of `ppopt compile`.
std::string completePlan(PlanOptions &plan);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_PLANOPTIONS_H
