//===- TileAtZero.cpp - Takes each tile for the first one -----------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/RandomKey.h"

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
    auto tile = op->getAttrOfType<TileAttr>("tile");
    auto cuts = llvm::map_to_vector(tile.getCuts(), [](TileCutAttr cut) {
      return TileCutAttr::get(cut.getContext(), cut.getDim(), cut.getAxis(),
                              indexOf(KeyElement::Rows) - 1, cut.getParts(),
                              cut.getPeriod());
    });
    op->setAttr("tile", TileAttr::get(&getContext(), cuts, tile.getShape()));
  }
};

} // namespace
