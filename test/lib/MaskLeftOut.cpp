//===- MaskLeftOut.cpp - Rows that do not count are summed ----------------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_MASKLEFTOUT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct MaskLeftOut : pp::impl::MaskLeftOutBase<MaskLeftOut> {
  void runOnOperation() override {
    auto mask =
        findFirst<MaskRowsOp>(getOperation(), [](MaskRowsOp) { return true; });
    if (failed(requireChange(bool(mask), getOperation(), "mask of rows")))
      return signalPassFailure();
    mask.replaceAllUsesWith(mask.getX());
    mask.erase();
  }
};

} // namespace
