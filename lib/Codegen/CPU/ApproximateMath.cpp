//===- ApproximateMath.cpp - Scalar code that needs no library ------------===//

#include "FunctionsInF64.h"

#include "ppopt/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::pp {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;

namespace {
struct ApproximateMathPass
    : pp::impl::ApproximateMathBase<ApproximateMathPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    populateMathPolynomialApproximationPatterns(all, isApproximated);
    pp::populateFunctionsInF64Patterns(all);
    arith::populateExpandBFloat16Patterns(all);
    patterns = std::make_shared<const FrozenRewritePatternSet>(std::move(all));
    return success();
  }
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) ||
          isa<arith::ExtFOp, arith::TruncFOp>(op))
        ops.push_back(op);
    });
    // Visits these ops and those that patterns make; what that leaves to
    // simplify is the canonicalizer's.
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, *patterns, config)))
      signalPassFailure();
  }

private:
  /// Upstream's sine and cosine are wrong for large operands, and its
  /// arctangent is off by more than an ulp.
  static bool isApproximated(StringRef name) {
    return name != math::SinOp::getOperationName() &&
           name != math::CosOp::getOperationName() &&
           name != math::AtanOp::getOperationName();
  }

  std::shared_ptr<const FrozenRewritePatternSet> patterns; ///< of all threads
};
} // namespace
