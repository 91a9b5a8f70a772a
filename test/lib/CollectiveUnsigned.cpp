//===- CollectiveUnsigned.cpp - A task makes one collective too many ------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_COLLECTIVEUNSIGNED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct CollectiveUnsigned
    : pp::impl::CollectiveUnsignedBase<CollectiveUnsigned> {
  void runOnOperation() override {
    auto task = findFirst<TaskOp>(getOperation(), [](TaskOp task) {
      return task.getCollectiveList().size() > 1;
    });
    if (task)
      task.setCollectivesAttr(ArrayAttr::get(
          &getContext(), task.getCollectives()->getValue().drop_back()));
    if (failed(requireChange(bool(task), getOperation(),
                             "task of several collectives")))
      signalPassFailure();
  }
};

} // namespace
