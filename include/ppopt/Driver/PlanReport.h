//===- PlanReport.h - Predicted time and memory of a plan -----------------===//
//
// Collected in two steps: the schedule of a module of phase scheduled, with a
// step predicted from ops on tensors; memory, and the step predicted from
// launches, once tasks are on buffers.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DRIVER_PLANREPORT_H
#define PPOPT_DRIVER_PLANREPORT_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Report/SchedulePage.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace mlir::pp {

/// Bytes that a rank sends per step.
struct TaskTraffic {
  int64_t bytes = 0, once = 0;
};

struct StageReport {
  /// Ops of the forward, without constants.
  unsigned ops = 0;
  /// Bytes that the backward of a microbatch reads from forwards: saved and
  /// received values.
  int64_t savedBytes = 0;
  ppopt::schedule::StageNote note;
};

/// What the launches of a kernel, or the matmuls of a shape, take in a step.
struct KernelReport {
  std::string name;
  int64_t launches = 0;
  double bytes = 0, flops = 0; ///< of one; FLOPs of matmuls
  double time = 0;             ///< of all, predicted, in nanoseconds
  bool isBoundByMemory = false;
};

/// Figures of a place's rank with coordinate 0 on all other axes, in a training
/// step.
struct PlaceReport {
  SmallVector<int64_t> ranks; ///< of the place
  int inFlight = 0;           ///< Timeline::getInFlight
  double idleShare = 0;       ///< predicted
  /// Of the collectives inside tasks, predicted, in nanoseconds per step: how
  /// long they are in flight while the rank computes, and it waits for them.
  double hidden = 0, exposed = 0;
  /// Bytes that the backwards of its stages read from a microbatch's forwards.
  int64_t savedBytes = 0;
  /// FLOPs of the matmuls that backwards of a step recompute. They follow from
  /// the ops' shapes, so a causal matmul counts in full.
  int64_t recomputedFlops = 0;
  /// Bytes that transfers send, by destination place.
  std::map<int64_t, int64_t> sentTo;
  /// Bytes of the values in slots, over the predicted step.
  std::vector<ppopt::schedule::MemoryStep> activations;

  // With addMemory: bytes of the arena by kind (docs/program.md), in its order.
  llvm::MapVector<StringRef, int64_t> memory;
  int64_t arenaBytes = 0, temporaryBytes = 0;
  int64_t ncclBytes = 0; ///< that NCCL allocates beside the arena
  /// Returns the bytes that --device-memory limits.
  int64_t getBytes() const { return arenaBytes + ncclBytes; }
  int64_t bytesSent = 0; ///< with addBytesSent: by transfers and sums

  // With addCounts:
  /// By kind of memory, the bytes that a rank does not have because other ranks
  /// of a group do.
  llvm::MapVector<StringRef, int64_t> elsewhereBytes;
  /// Elements of the parameters that learn.
  int64_t learned = 0;
  /// Bytes that collectives inside tasks send, and those that they would if
  /// each bucket were gathered or summed once.
  TaskTraffic gathers, sums;
  /// Bytes of the copy of its share that a saving rank makes, in addition to
  /// the arena: the largest over the place's ranks.
  int64_t checkpointBytes = 0;
  int64_t flops = 0, launches = 0;
  /// Of asynchronous training: what it gets from other owners for a step, and
  /// sends to them.
  int64_t pulledBytes = 0, pushedBytes = 0;
  /// In the order of their times; only of GPUs.
  std::vector<KernelReport> kernels;
};

/// A bucket that is sent to a place that borrows it, or its gradients on the
/// way back, once per step.
struct LoanReport {
  std::string name;
  int64_t from = 0, to = 0, bytes = 0;
  bool isGradient = false;
};

/// Buckets of which the ranks of one group have chunks.
struct ShardReport {
  GroupAttr group;
  ShardedState state = ShardedState::States;
  bool isConstant = false; ///< of parameters that nothing updates
  int64_t ranks = 0;       ///< of the group
  int64_t parameters = 0;
};

struct PlanReport {
  int64_t batch = 0, microbatches = 0, deviceMemory = 0; ///< 0: no limit
  int64_t trainers = 1; ///< that compute steps beside each other
  /// What a step trains on, as the log counts it: tokens, or samples.
  std::string workUnit;
  int64_t work = 0;
  /// Times are in nanoseconds.
  ppopt::schedule::StageGraph graph;
  ppopt::schedule::Table table;
  ppopt::schedule::Timeline timeline;
  std::vector<std::string> edgeNames; ///< of transfers; the graph's first edges
  std::vector<StageReport> stages;
  std::vector<LoanReport> loans;
  std::vector<ShardReport> shards;
  std::vector<PlaceReport> places;
  /// With a cluster, the outermost links that the collectives of each group
  /// cross, "InfiniBand", by Mesh::describe.
  std::map<std::string, std::string> linkOfGroup;
};

/// Returns everything but the memory, for a module of phase scheduled. Without
/// `predicts` there are no times yet: predictLaunches adds better ones.
FailureOr<PlanReport> reportSchedule(ModuleOp module, bool predicts = true);

/// Predicts the step again, from the launches of the same module in phase
/// kernels on the device that it has now.
LogicalResult predictLaunches(ModuleOp module, PlanReport &report);

/// Does so, and adds the memory.
LogicalResult addMemory(ModuleOp module, PlanReport &report);

/// Adds the bytes that a rank of each place sends per step.
LogicalResult addBytesSent(ModuleOp module, PlanReport &report);

/// Adds the counts of the program, its checkpoints, shards and kernels, and
/// what collectives cross.
LogicalResult addCounts(ModuleOp module, PlanReport &report);

/// A rank that works slowly, on the place where that costs most.
struct SlowRank {
  int place = 0;
  double step = 0; ///< of its trainer, predicted, in nanoseconds
};

/// Predicts the step with a rank whose work takes `factor` times as long, for a
/// module whose step is predicted.
FailureOr<SlowRank> predictSlowRank(ModuleOp module, const PlanReport &report,
                                    double factor);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_PLANREPORT_H
