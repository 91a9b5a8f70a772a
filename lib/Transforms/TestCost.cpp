//===- TestCost.cpp - Emits a remark with each op's work ------------------===//

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TESTCOST
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

bool hasGradient(Value value) {
  auto param = value.getDefiningOp<ParamOp>();
  return isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
         !(param && param.getFrozen());
}

struct TestCost : pp::impl::TestCostBase<TestCost> {
  void runOnOperation() override {
    getOperation()->walk([&](IterationSpaceOpInterface op) {
      Work forward = estimateWork(op);
      Work backward = estimateBackwardWork(
          op, llvm::map_to_vector(op->getOperands(), hasGradient));
      auto count = [](double value) { return static_cast<int64_t>(value); };
      op->emitRemark() << count(forward.flops) << " flops, "
                       << count(forward.elements) << " elements, "
                       << count(forward.bytes) << " bytes; backward "
                       << count(backward.flops) << ", "
                       << count(backward.elements) << ", "
                       << count(backward.bytes) << ".";
    });
  }
};

} // namespace
