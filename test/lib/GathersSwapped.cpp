//===- GathersSwapped.cpp - A task gathers the chunk of another bucket ----===//

#include "Gathers.h"
#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHERSSWAPPED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GathersSwapped : pp::impl::GathersSwappedBase<GathersSwapped> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      isChanged |= swapTwo(findGathers(task));
    if (failed(requireChange(isChanged, getOperation(),
                             "two gathers of one type inside a task")))
      signalPassFailure();
  }

private:
  static bool swapTwo(ArrayRef<TaskGather> gathers) {
    for (auto [i, first] : llvm::enumerate(gathers))
      for (const TaskGather &second : gathers.drop_front(i + 1)) {
        BeginOp one = first.begin, other = second.begin;
        Value x = one.getX(), y = other.getX();
        if (x.getType() != y.getType() || !isa<BlockArgument>(x) ||
            !isa<BlockArgument>(y))
          continue;
        one.getXMutable().assign(y);
        other.getXMutable().assign(x);
        return true;
      }
    return false;
  }
};

} // namespace
