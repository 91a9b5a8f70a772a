//===- PlanReport.h - What a plan comes to --------------------------------===//
//
// Collected in two steps, because a task's time is estimated from its ops on
// tensors and its memory is known when it is on buffers.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DRIVER_PLANREPORT_H
#define PPOPT_DRIVER_PLANREPORT_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Report/SchedulePage.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace mlir::pp {

struct StageReport {
  /// Ops of the forward, constants left out.
  unsigned ops = 0;
  /// What the backward of a microbatch takes from forwards: saved and received
  /// values.
  int64_t savedBytes = 0;
  ppopt::schedule::StageNote note;
};

/// Of a place's rank with coordinate 0 on all other axes, in a step of
/// training.
struct PlaceReport {
  SmallVector<int64_t> ranks; ///< of the place
  int inFlight = 0;           ///< Timeline::getInFlight
  double idleShare = 0;       ///< predicted
  /// What its stages' backwards take of a microbatch's forwards.
  int64_t savedBytes = 0;
  /// Of matmuls of a step that a backward computes again; by the ops' shapes,
  /// so that all of a causal matmul counts.
  int64_t recomputedFlops = 0;
  /// Bytes that transfers send, by the place that gets them.
  std::map<int64_t, int64_t> sentTo;
  /// Bytes of the values that live in slots, over the predicted step.
  std::vector<ppopt::schedule::MemoryStep> activations;

  // With addMemory:
  /// Bytes of the arena by kind (docs/program.md), in its order.
  llvm::MapVector<StringRef, int64_t> memory;
  int64_t arenaBytes = 0, temporaryBytes = 0;
  /// Of the copy that a rank which saves makes of its share, beside the arena:
  /// of the rank of the place with the most.
  int64_t checkpointBytes = 0;
  int64_t flops = 0, launches = 0;
  int64_t bytesSent = 0; ///< transfers and sums
};

/// A bucket on its way to a place that borrows it, or its gradients on theirs
/// back, once a step.
struct LoanReport {
  std::string name;
  int64_t from = 0, to = 0, bytes = 0;
  bool isGradient = false;
};

struct PlanReport {
  int64_t batch = 0, microbatches = 0, deviceMemory = 0; ///< 0: no limit
  /// Times are in nanoseconds.
  ppopt::schedule::StageGraph graph;
  ppopt::schedule::Table table;
  ppopt::schedule::Timeline timeline;
  std::vector<std::string> edgeNames; ///< of transfers; the graph's first edges
  std::vector<StageReport> stages;
  std::vector<LoanReport> loans;
  std::vector<PlaceReport> places;
};

/// Everything but the memory, of a module of phase scheduled.
FailureOr<PlanReport> reportSchedule(ModuleOp module);

/// Adds the memory and the counts, of the same module in phase kernels.
LogicalResult addMemory(ModuleOp module, PlanReport &report);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_PLANREPORT_H
