//===- ShareLeftOut.cpp - Each batch counts as the whole evaluation -------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SHARELEFTOUT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ShareLeftOut : pp::impl::ShareLeftOutBase<ShareLeftOut> {
  void runOnOperation() override {
    auto share = findFirst<EvaluationShareOp>(
        getOperation(), [](EvaluationShareOp) { return true; });
    if (failed(requireChange(bool(share), getOperation(),
                             "share of an evaluation")))
      return signalPassFailure();
    share.replaceAllUsesWith(share.getX());
    share.erase();
  }
};

} // namespace
