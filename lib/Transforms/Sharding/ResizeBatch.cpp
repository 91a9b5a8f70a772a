//===- ResizeBatch.cpp - Gives the entry another batch size ---------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/BatchPropagation.h"
#include "ppopt/Transforms/Sharding/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RESIZEBATCH
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

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
