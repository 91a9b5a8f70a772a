//===- LookUpAtZero.cpp - Ranks look up rows of the first rank -----------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/IndexOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOOKUPATZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct LookUpAtZero : pp::impl::LookUpAtZeroBase<LookUpAtZero> {
  void runOnOperation() override {
    auto op = findFirst<EmbeddingOp>(
        getOperation(), [](Operation *op) { return op->hasAttr("tile"); });
    if (failed(requireChange(bool(op), getOperation(),
                             "look-up in rows that axes cut")))
      return signalPassFailure();
    takeFirstTile(op);
  }
};

} // namespace
