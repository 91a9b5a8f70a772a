//===- SelectResults.cpp - Keeps the results that a program is for --------===//
//
// Before: the entry returns the loss, metrics and outputs. After: without the
// outputs, in the program that trains; or with the outputs and, in place of the
// loss, a zero, in the program that predicts. What only the others need is
// dead.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SELECTRESULTS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

bool pp::hasOutputs(func::FuncOp entry) {
  for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
    if (entry.getResultAttr(i, kOutputAttr))
      return true;
  return false;
}

namespace {

struct SelectResults : pp::impl::SelectResultsBase<SelectResults> {
  using SelectResultsBase::SelectResultsBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    Operation *ret = entry->getBody().front().getTerminator();
    BitVector dropped(entry->getNumResults());
    for (unsigned i = 1, e = entry->getNumResults(); i < e; ++i)
      dropped[i] =
          static_cast<bool>(entry->getResultAttr(i, kOutputAttr)) != predicts;
    if (predicts) {
      OpBuilder builder(ret);
      Value loss = ret->getOperand(0);
      ret->setOperand(
          0, ConstantOp::create(builder, loss.getLoc(),
                                cast<RankedTensorType>(loss.getType()), 0.0));
    }
    ret->eraseOperands(dropped);
    (void)entry->eraseResults(dropped);
  }
};

} // namespace
