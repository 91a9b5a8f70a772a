//===- RowsNotScattered.cpp - Gathered rows get no gradient of others
//------===//

#include "Mutations.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ROWSNOTSCATTERED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct RowsNotScattered : pp::impl::RowsNotScatteredBase<RowsNotScattered> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto scatter = findFirst<ReduceScatterOp>(module, [&](ReduceScatterOp op) {
      return op->getParentOfType<TaskOp>() &&
             !isOfBucket(describeCollective(op), module);
    });
    if (failed(requireChange(bool(scatter), module,
                             "sum of which ranks have their rows")))
      return signalPassFailure();
    OpBuilder builder(scatter);
    scatter.replaceAllUsesWith(
        SliceOp::create(builder, scatter.getLoc(), scatter.getType(),
                        scatter.getX(), ArrayRef<int64_t>{0})
            .getResult());
    auto task = scatter->getParentOfType<TaskOp>();
    scatter.erase();
    task.setCollectivesAttr(
        ArrayAttr::get(&getContext(), describeCollectives(task)));
  }
};

} // namespace
