//===- TileAtZero.cpp - Takes each tile for the first one -----------------===//

#include "Mutations.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TILEATZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct TileAtZero : pp::impl::TileAtZeroBase<TileAtZero> {
  void runOnOperation() override {
    auto op = findFirst<Operation *>(getOperation(), [](Operation *op) {
      return op->hasAttrOfType<TileAttr>("tile");
    });
    if (failed(requireChange(op != nullptr, getOperation(), "tile")))
      return signalPassFailure();
    takeFirstTile(op);
  }
};

} // namespace
