//===- OtherMode.cpp - An evaluation computes what training does ----------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/BatchOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERMODE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OtherMode : pp::impl::OtherModeBase<OtherMode> {
  void runOnOperation() override {
    auto mode =
        findFirst<ByModeOp>(getOperation(), [](ByModeOp) { return true; });
    if (failed(requireChange(bool(mode), getOperation(), "value by mode")))
      return signalPassFailure();
    mode.getEvaluationMutable().set(mode.getTraining());
  }
};

} // namespace
