//===- PrintAddresses.cpp - Where the operands of runs lie ----------------===//

#include "Mutations.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TESTPRINTADDRESSES
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PrintAddresses : pp::impl::TestPrintAddressesBase<PrintAddresses> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    BufferIndex buffers(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>()) {
        SmallVector<Attribute> addresses;
        TaskOp task = index.getTask(run);
        for (const TaskOperand &operand : index.getOperands(task)) {
          if (isValue(operand.role.getKind()))
            continue;
          FailureOr<AddressAttr> address =
              buffers.getAddress(run, task, operand);
          if (failed(address))
            return signalPassFailure();
          addresses.push_back(*address);
        }
        run->setAttr("test.addresses",
                     ArrayAttr::get(&getContext(), addresses));
      }
  }
};

} // namespace
