//===- SumNotAdded.cpp - Keeps the gradients of the last microbatch only --===//

#include "Mutations.h"
#include "TaskSums.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SUMNOTADDED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct SumNotAdded : pp::impl::SumNotAddedBase<SumNotAdded> {
  void runOnOperation() override {
    SmallVector<TaskSum> sums = findTaskSums(getOperation());
    if (failed(requireChange(!sums.empty(), getOperation(),
                             "sum of gradients inside a task")))
      return signalPassFailure();
    TaskSum sum = sums.front();
    sum.begin.getOutsMutable()[0].assign(sum.addition.getOuts()[0]);
    sum.addition.erase();
  }
};

} // namespace
