//===- DropTiedSum.cpp - Keeps the gradient of one use of each parameter --===//

#include "Mutations.h"

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
    getOperation().walk([&](UpdateOp update) {
      MutableOperandRange gradients = update.getGradientsMutable();
      if (gradients.size() > 1) {
        gradients.erase(1, gradients.size() - 1);
        isChanged = true;
      } else if (gradients.size() == 1) {
        isChanged |= dropSum(gradients[0].get());
      }
    });
    if (failed(requireChange(isChanged, getOperation(),
                             "parameter that is used more than once")))
      signalPassFailure();
  }

private:
  /// Where a stage sums the gradients of several uses, leaves one of them.
  static bool dropSum(Value gradient) {
    auto stage = gradient.getDefiningOp<PlaceOp>();
    if (!stage)
      return false;
    OpOperand &yielded = stage.getBody().front().getTerminator()->getOpOperand(
        cast<OpResult>(gradient).getResultNumber());
    auto sum = yielded.get().getDefiningOp<AddOp>();
    if (sum)
      yielded.set(sum.getLhs());
    return sum != nullptr;
  }
};

} // namespace
