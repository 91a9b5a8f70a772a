//===- CollectiveLeftOut.cpp - A task makes one collective too few --------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_COLLECTIVELEFTOUT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct CollectiveLeftOut : pp::impl::CollectiveLeftOutBase<CollectiveLeftOut> {
  void runOnOperation() override {
    BeginOp last;
    getOperation().walk([&](BeginOp begin) { last = begin; });
    if (last) {
      FinishOp wait = findFirst<FinishOp>(getOperation(), [&](FinishOp finish) {
        return finish->getParentOp() == last->getParentOp() &&
               finish.getNumber() == last.getNumber();
      });
      wait.erase();
      last.erase();
    }
    if (failed(requireChange(bool(last), getOperation(),
                             "collective inside a task")))
      signalPassFailure();
  }
};

} // namespace
