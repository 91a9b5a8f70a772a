//===- CommitIgnoresHold.cpp - A step that holds commits states -----------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_COMMITIGNORESHOLD
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct CommitIgnoresHold : pp::impl::CommitIgnoresHoldBase<CommitIgnoresHold> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>()) {
      if (task.getKind() != TaskKind::Commit)
        continue;
      for (auto choice : task.getBody().front().getOps<SelectOp>()) {
        choice.getResult().replaceAllUsesWith(choice.getRhs());
        isChanged = true;
      }
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "state that a step may hold")))
      signalPassFailure();
  }
};

} // namespace
