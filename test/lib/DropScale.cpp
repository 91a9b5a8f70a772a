//===- DropScale.cpp - Reads a whole value as a partial sum ---------------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPSCALE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Nothing but the division would be missed.
static bool divides(ReshardOp reshard) {
  ArrayRef<StringAttr> before = reshard.getFrom().getSums();
  return reshard.getX().getType() == reshard.getType() &&
         llvm::any_of(reshard.getTo().getSums(), [&](StringAttr axis) {
           return !llvm::is_contained(before, axis);
         });
}

namespace {

struct DropScale : pp::impl::DropScaleBase<DropScale> {
  void runOnOperation() override {
    auto reshard = findFirst<ReshardOp>(getOperation(), divides);
    auto add = findFirst<AddGradOp>(
        getOperation(), [](AddGradOp op) { return op.getTiles().has_value(); });
    if (failed(requireChange(reshard || add, getOperation(),
                             "whole value that is read as a partial sum")))
      return signalPassFailure();
    if (!reshard) {
      add.removeTilesAttr();
      return;
    }
    reshard.replaceAllUsesWith(reshard.getX());
    reshard.erase();
  }
};

} // namespace
