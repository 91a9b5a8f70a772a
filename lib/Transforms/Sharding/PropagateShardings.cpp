//===- PropagateShardings.cpp - Writes down how each value is cut ---------===//

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PropagateShardings
    : pp::impl::PropagateShardingsBase<PropagateShardings> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<int64_t> batch = getModelBatch(*entry);
    if (failed(batch))
      return signalPassFailure();
    if (*batch != plan->getBatch()) {
      entry->emitError("has a batch of ")
          << *batch << " rows, but the plan says " << plan->getBatch();
      return signalPassFailure();
    }
    auto &known = getAnalysis<KnownShardings>();
    markAnalysesPreserved<KnownShardings>();
    if (!known.table) {
      ShardingPropagation propagation(*entry, ShardingAxes::of(*plan));
      if (failed(propagation.run()))
        return signalPassFailure();
      known.table = propagation.takeTable();
    }
    known.table->write(*entry);
  }
};

} // namespace
