//===- AddOwnSlice.cpp - Adds gradients that ranks have not summed --------===//

#include "Mutations.h"
#include "TaskSums.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ADDOWNSLICE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct AddOwnSlice : pp::impl::AddOwnSliceBase<AddOwnSlice> {
  void runOnOperation() override {
    SmallVector<TaskSum> sums = findTaskSums(getOperation());
    if (failed(requireChange(!sums.empty(), getOperation(),
                             "sum of gradients inside a task")))
      return signalPassFailure();
    replace(sums.front());
  }

private:
  /// The signature follows, and later collectives have the number before.
  static void replace(TaskSum sum) {
    auto task = cast<TaskOp>(sum.begin->getParentOp());
    auto chunk = cast<MemRefType>(sum.begin.getOuts()[0].getType());
    OpBuilder builder(sum.begin);
    Value slice = memref::ReinterpretCastOp::create(
        builder, sum.begin.getLoc(), chunk, sum.begin.getX(), /*offset=*/0,
        chunk.getShape(), ArrayRef<int64_t>{1});
    sum.addition->replaceUsesOfWith(sum.begin.getOuts()[0], slice);
    int64_t number = sum.begin.getNumber();
    SmallVector<Attribute> listed(task.getCollectives()->getValue());
    listed.erase(listed.begin() + number);
    task.setCollectivesAttr(builder.getArrayAttr(listed));
    sum.begin.erase();
    sum.finish.erase();
    for (auto begin : task.getBody().getOps<BeginOp>())
      if (int64_t(begin.getNumber()) > number)
        begin.setNumber(begin.getNumber() - 1);
    for (auto finish : task.getBody().getOps<FinishOp>())
      if (int64_t(finish.getNumber()) > number)
        finish.setNumber(finish.getNumber() - 1);
  }
};

} // namespace
