//===- DecomposeModel.cpp - Replaces compositions -------------------------===//
//
// Before: phase model. After: every op has a gradient or passes none on.
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
  using DecomposeModelBase::DecomposeModelBase;
  void runOnOperation() override {
    if (failed(decomposeAll(getOperation(), DecomposeAt::Model)) ||
        (means && failed(decomposeAll(getOperation(), DecomposeAt::Train))))
      signalPassFailure();
  }
};

} // namespace
