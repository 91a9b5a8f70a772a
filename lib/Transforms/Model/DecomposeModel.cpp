//===- DecomposeModel.cpp - Replaces compositions -------------------------===//
//
// Before: phase model. After: every op has a gradient or passes none on; means
// are sums times a constant of the global count.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DECOMPOSEMODEL
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DecomposeModel : pp::impl::DecomposeModelBase<DecomposeModel> {
  void runOnOperation() override {
    if (failed(decomposeAll(getOperation(), DecomposeAt::Model)))
      signalPassFailure();
  }
};

} // namespace
