//===- OutputsExchanged.cpp - Outputs are written to each other's place ---===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OUTPUTSEXCHANGED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OutputsExchanged : pp::impl::OutputsExchangedBase<OutputsExchanged> {
  void runOnOperation() override {
    if (failed(requireChange(exchange(), getOperation(),
                             "two outputs of one type")))
      signalPassFailure();
  }

private:
  bool exchange() {
    for (auto task : getOperation().getOps<TaskOp>()) {
      SmallVector<unsigned> outputs = getOutputs(task);
      for (unsigned first : outputs)
        for (unsigned second : outputs)
          if (first < second &&
              task.getResultTypes()[first] == task.getResultTypes()[second]) {
            exchangeRoles(task, task.getResultRole(first),
                          task.getResultRole(second));
            return true;
          }
    }
    return false;
  }
};

} // namespace
