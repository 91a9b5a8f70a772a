//===- DecomposeModel.cpp - Replaces compositions -------------------------===//
//
// Before: phase model. After: every op has a gradient or passes none on. Where
// nothing is trained, dropout is the identity: attention keeps its kernel.
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

/// Removes the dropout of ops that draw numbers for it alone.
void removeDropout(Operation *root) {
  root->walk([](IterationSpaceOpInterface op) {
    if (!op.drawsNumbers() || !op->hasAttr("dropout"))
      return;
    op->removeAttr("dropout");
    op->removeAttr("stream"); // kernels of all layers are the same again
  });
}

struct DecomposeModel : pp::impl::DecomposeModelBase<DecomposeModel> {
  using DecomposeModelBase::DecomposeModelBase;
  void runOnOperation() override {
    if (means)
      removeDropout(getOperation());
    if (failed(decomposeAll(getOperation(), DecomposeAt::Model)) ||
        (means && failed(decomposeAll(getOperation(), DecomposeAt::Train))))
      signalPassFailure();
  }
};

} // namespace
