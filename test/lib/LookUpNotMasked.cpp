//===- LookUpNotMasked.cpp - Ids of other ranks name a row of the rank ---===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOOKUPNOTMASKED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct LookUpNotMasked : pp::impl::LookUpNotMaskedBase<LookUpNotMasked> {
  void runOnOperation() override {
    auto op = findFirst<EmbeddingOp>(
        getOperation(), [](EmbeddingOp op) { return bool(op.getTileAttr()); });
    if (failed(requireChange(bool(op), getOperation(),
                             "look-up in rows that axes cut")))
      return signalPassFailure();
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto rows = RankedTensorType::get({getShape(op.getTable()).front()},
                                      getElementTypeOrSelf(op.getIds()));
    auto tile = TileAttr::get(&getContext(), op.getTileAttr().getCuts(),
                              op.getTileAttr().getShape().take_front());
    // The rank's first row: ids of others are out of range then.
    Value first = IotaOp::create(builder, loc, rows, op.getKey(), 0, tile);
    first = SliceOp::create(builder, loc, rows.clone({1}), first,
                            ArrayRef<int64_t>{0});
    first =
        ReshapeOp::create(builder, loc, rows.clone(ArrayRef<int64_t>()), first);
    Value local = SubOp::create(builder, loc, op.getIds(), first);
    op.replaceAllUsesWith(EmbeddingOp::create(builder, loc, op.getType(),
                                              op.getTable(), local, Value(),
                                              TileAttr())
                              .getResult());
    op.erase();
  }
};

} // namespace
