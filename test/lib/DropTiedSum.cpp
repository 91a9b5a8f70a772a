//===- DropTiedSum.cpp - Keeps the gradient of one use of each parameter --===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPTIEDSUM
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DropTiedSum : pp::impl::DropTiedSumBase<DropTiedSum> {
  void runOnOperation() override {
    bool isChanged = false;
    DenseSet<Value> learning;
    getOperation().walk([&](AddGradOp add) {
      if (!learning.insert(add.getParam()).second) {
        add.erase();
        isChanged = true;
      } else if (auto sum = add.getGradient().getDefiningOp<AddOp>()) {
        add.getGradientMutable().set(sum.getLhs());
        isChanged = true;
      }
    });
    if (failed(requireChange(isChanged, getOperation(),
                             "parameter that is used more than once")))
      signalPassFailure();
  }
};

} // namespace
