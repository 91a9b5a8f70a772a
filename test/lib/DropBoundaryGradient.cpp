//===- DropBoundaryGradient.cpp - Sends no gradient over a boundary -------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPBOUNDARYGRADIENT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DropBoundaryGradient
    : pp::impl::DropBoundaryGradientBase<DropBoundaryGradient> {
  void runOnOperation() override {
    auto back = findFirst<CopyOp>(getOperation(), [](CopyOp copy) {
      return copy.getGradientOf().has_value();
    });
    if (failed(requireChange(back != nullptr, getOperation(),
                             "gradient that crosses places")))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockBegin(back->getBlock());
    Value zero = ConstantOp::create(builder, back.getLoc(),
                                    cast<RankedTensorType>(back.getType()),
                                    /*splat=*/0.0);
    back.replaceAllUsesWith(zero);
    back.erase();
  }
};

} // namespace
