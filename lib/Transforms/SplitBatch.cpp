//===- SplitBatch.cpp - Proves the batch's split, makes shapes local ------===//
//
// Before (phase train): the entry on global shapes. After: the same ops on the
// shapes of one microbatch of one rank; the sums over the batch that must be
// known first are pp.batch_sum; updates and the loss are partial sums. What
// can't be split is refused.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/BatchPropagation.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITBATCH
#define GEN_PASS_DEF_RESIZEBATCH
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The first dimension of the entry's first input.
FailureOr<int64_t> getModelBatch(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0)
      return type.getDimSize(0);
  }
  return entry.emitError("the model has no input with a first dimension, so "
                         "there is no batch to split"),
         failure();
}

/// Declares the inputs with their global shapes before they become local.
void declareInputs(func::FuncOp entry) {
  OpBuilder builder(entry);
  for (BlockArgument argument : entry.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto shift = entry.getArgAttrOfType<IntegerAttr>(i, kShiftAttr);
    std::optional<IndexRange> range = findIndexRange(argument);
    IntegerAttr end, ignore;
    if (range) {
      end = builder.getI64IntegerAttr(range->end);
      if (range->ignoreIndex)
        ignore = builder.getI64IntegerAttr(*range->ignoreIndex);
    }
    InputDeclOp::create(builder, argument.getLoc(),
                        entry.getArgAttrOfType<StringAttr>(i, kInputAttr),
                        TypeAttr::get(argument.getType()),
                        builder.getI64IntegerAttr(shift ? shift.getInt() : 0),
                        end, ignore);
  }
}

struct SplitBatch : pp::impl::SplitBatchBase<SplitBatch> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<int64_t> batch = getModelBatch(*entry);
    if (failed(batch))
      return signalPassFailure();
    if (*batch != static_cast<int64_t>(plan->getBatch())) {
      entry->emitError("has a batch of ")
          << *batch << " rows, but the plan says " << plan->getBatch();
      return signalPassFailure();
    }
    declareInputs(*entry);
    BatchPropagation propagation(*entry, *batch, plan->getBatchTiles());
    propagation.plant = plan->getPlant().value_or("");
    if (failed(propagation.propagate()))
      return signalPassFailure();
    propagation.applyLocalShapes(*batch / plan->getBatchTiles());
  }
};

struct ResizeBatch : pp::impl::ResizeBatchBase<ResizeBatch> {
  using ResizeBatchBase::ResizeBatchBase;
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    FailureOr<int64_t> old = getModelBatch(*entry);
    if (failed(old))
      return signalPassFailure();
    if (batch == 0 || batch == *old)
      return;
    BatchPropagation propagation(*entry, *old, /*tiles=*/1);
    propagation.isResize = true;
    if (failed(propagation.propagate()) ||
        failed(propagation.checkSizes(batch)))
      return signalPassFailure();
    propagation.applyLocalShapes(batch);
  }
};

} // namespace
