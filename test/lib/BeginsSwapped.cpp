//===- BeginsSwapped.cpp - Two collectives of a task have swapped numbers -===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BEGINSSWAPPED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct BeginsSwapped : pp::impl::BeginsSwappedBase<BeginsSwapped> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>()) {
      auto begins = llvm::to_vector(task.getBody().getOps<BeginOp>());
      if (begins.size() < 2)
        continue;
      int64_t number = begins[0].getNumber();
      begins[0].setNumber(begins[1].getNumber());
      begins[1].setNumber(number);
      isChanged = true;
      break;
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "task of several collectives")))
      signalPassFailure();
  }
};

} // namespace
