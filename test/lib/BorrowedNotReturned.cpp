//===- BorrowedNotReturned.cpp - Forgets the gradients of a borrower ------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BORROWEDNOTRETURNED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct BorrowedNotReturned
    : pp::impl::BorrowedNotReturnedBase<BorrowedNotReturned> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      if (task.getKind() == TaskKind::Collect)
        isChanged |= dropLast(task);
    if (failed(requireChange(isChanged, getOperation(),
                             "task that collects gradients")))
      signalPassFailure();
  }

private:
  /// Gives the task one value less where it is called.
  void dropOperand(TaskOp task, unsigned argument) {
    unsigned number = 0;
    for (unsigned value : task.getValueArguments())
      number += value < argument;
    getOperation().walk([&](CallOp call) {
      if (call.getTask() == task.getSymName())
        call.getValuesMutable().erase(number);
    });
  }

  bool dropLast(TaskOp task) {
    for (unsigned i = task.getNumArguments(); i-- > 0;) {
      if (!isValue(task.getArgRole(i).getKind()))
        continue;
      for (Operation *user :
           llvm::make_early_inc_range(task.getArgument(i).getUsers())) {
        auto sum = cast<AccumulateOp>(user);
        sum.replaceAllUsesWith(sum.getAccumulator());
        sum.erase();
      }
      dropOperand(task, i);
      return succeeded(task.eraseArgument(i));
    }
    return false;
  }
};

} // namespace
