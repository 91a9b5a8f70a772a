//===- OptimizerState.h - The states of an optimizer ----------------------===//

#ifndef PPOPT_ANALYSIS_OPTIMIZERSTATE_H
#define PPOPT_ANALYSIS_OPTIMIZERSTATE_H

#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Returns the name of the state that has averages of the parameters (--ema).
StringRef getAverageState();

/// Returns the names of the states of a plan's optimizer, each as large as the
/// parameters: m and v for adam and adamw, momentum for sgd; getAverageState.
SmallVector<StringRef> getOptimizerStates(PlanOp plan);

/// Returns whether tasks of the kind write the parameters of buckets.
inline bool updatesBuckets(TaskKind kind) {
  return kind == TaskKind::Update || kind == TaskKind::Average;
}

/// Returns the element type of a bucket's gradients, which are sums over
/// microbatches and ranks: f32 if the parameters are bf16.
Type getGradType(BucketOp bucket);

/// Returns the places whose ranks have the bucket's chunks: all that hold it,
/// or the owner alone if others borrow it.
ArrayRef<int64_t> getShardPlaces(BucketOp bucket);

/// Returns what a plan shards where its ranks can: nothing at stage 0.
std::optional<ShardedState> getShardedState(PlanOp plan);

/// Returns what a stage of ZeRO shards beside what the one before does: "the
/// gradients too".
StringRef describeStage(int64_t zero);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_OPTIMIZERSTATE_H
