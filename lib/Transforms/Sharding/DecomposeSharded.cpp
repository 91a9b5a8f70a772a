//===- DecomposeSharded.cpp - Decomposes composites that axes cut ---------===//
//
// Before: phase train. After: composites along whose rows an axis cuts (softmax
// and cross entropy over cut classes, or over rows of the batch that meet) are
// the ops that they stand for: a maximum, a sum of exponentials.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DECOMPOSESHARDED
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

FailureOr<std::optional<ShardingTable>>
pp::decomposeSharded(func::FuncOp entry, const ShardingAxes &axes) {
  // Over microbatches and single rows nothing is decomposed.
  AxisSet batch = axes.getBatchAxes(), ranks = axes.getRankAxes();
  while (canRowsMeet(axes) || (ranks & ~batch) != 0) {
    ShardingPropagation propagation(entry, axes);
    if (failed(propagation.run()))
      return failure();
    if (propagation.composites.empty())
      return std::optional(propagation.takeTable());
    for (Operation *op : propagation.composites)
      if (failed(decompose(cast<DecomposableOpInterface>(op))))
        return failure();
    // A mean over a cut row divides by the count of the whole row.
    if (failed(decomposeAll(entry, DecomposeAt::Model)) ||
        failed(decomposeAll(entry, DecomposeAt::Train)))
      return failure();
  }
  return std::optional<ShardingTable>();
}

namespace {

struct DecomposeSharded : pp::impl::DecomposeShardedBase<DecomposeSharded> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<std::optional<ShardingTable>> table =
        decomposeSharded(*entry, ShardingAxes::of(*plan));
    if (failed(table))
      return signalPassFailure();
    getAnalysis<KnownShardings>().table = std::move(*table);
    markAnalysesPreserved<KnownShardings>();
  }
};

} // namespace
