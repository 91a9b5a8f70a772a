//===- ScatterAtZero.cpp - Ranks scatter to rows of the first one --------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/IndexOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SCATTERATZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ScatterAtZero : pp::impl::ScatterAtZeroBase<ScatterAtZero> {
  void runOnOperation() override {
    auto op = findFirst<EmbeddingGradOp>(
        getOperation(), [](Operation *op) { return op->hasAttr("tile"); });
    if (failed(requireChange(bool(op), getOperation(),
                             "scatter to rows that axes cut")))
      return signalPassFailure();
    takeFirstTile(op);
  }
};

} // namespace
