//===- PlaceOps.cpp - Puts every op of the entry into a place -------------===//
//
// Before: the entry's ops stand side by side. After: parameters, then one
// pp.place whose region holds all other ops, then the return.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLACEOPS
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PlaceOps : pp::impl::PlaceOpsBase<PlaceOps> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry) || failed(findPlan(getOperation())))
      return signalPassFailure();
    Block &block = entry->getBody().front();
    auto ret = cast<func::ReturnOp>(block.getTerminator());

    OpBuilder builder(ret);
    auto place =
        PlaceOp::create(builder, entry->getLoc(), ret.getOperandTypes(),
                        /*place=*/0, /*stage=*/0,
                        /*backward=*/false);
    Block *body = builder.createBlock(&place.getBody());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (&op == place)
        break;
      if (!isa<ParamOp>(op))
        op.moveBefore(body, body->end());
    }
    builder.setInsertionPointToEnd(body);
    YieldOp::create(builder, ret.getLoc(), ret.getOperands());
    ret->setOperands(place.getResults());
  }
};

} // namespace
