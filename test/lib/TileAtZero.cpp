//===- TileAtZero.cpp - Takes each tile for the first one -----------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TILEATZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a value follows from constants and indices alone.
static bool isFromNothing(Value value) {
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(op->getOperands(), isFromNothing);
}

namespace {

struct TileAtZero : pp::impl::TileAtZeroBase<TileAtZero> {
  void runOnOperation() override {
    auto op = findFirst<Operation *>(getOperation(), [](Operation *op) {
      return op->hasAttrOfType<TileAttr>("tile");
    });
    if (op)
      return takeFirstTile(op);
    bool isChanged = false;
    getOperation().walk([&](OwnPartOp part) {
      if (!isFromNothing(part.getX()))
        return;
      part.setAt(indexOf(KeyElement::Rows) - 1);
      isChanged = true;
    });
    if (failed(requireChange(isChanged, getOperation(), "tile")))
      signalPassFailure();
  }
};

} // namespace
