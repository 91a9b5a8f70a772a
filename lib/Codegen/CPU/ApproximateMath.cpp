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
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    pp::populateFunctionsInF64Patterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
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
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
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
};
} // namespace
