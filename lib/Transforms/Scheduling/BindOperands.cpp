//===- BindOperands.cpp - Says where the operands of runs are -------------===//
//
// Before: runs name tasks. After: each run has the address of every operand of
// its task that is no value.
//
//   %h = pp.run @s0_F microbatch 1 ()                           // before
//   %h = pp.run @s0_F microbatch 1 () at (<input, "x"> + 128)   // after
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BINDOPERANDS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct BindOperands : pp::impl::BindOperandsBase<BindOperands> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    BufferIndex buffers(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>())
        if (failed(bind(run, index, buffers)))
          return signalPassFailure();
  }

private:
  static LogicalResult bind(RunOp run, const StepIndex &index,
                            const BufferIndex &buffers) {
    if (run.getAddresses())
      return run.emitOpError("has addresses already");
    SmallVector<Attribute> addresses;
    for (const TaskOperand &operand : index.getOperands(index.getTask(run))) {
      if (isValue(operand.role.getKind()))
        continue;
      FailureOr<AddressAttr> address =
          buffers.getAddress(run, index.getTask(run), operand);
      if (failed(address))
        return failure();
      addresses.push_back(*address);
    }
    run.setAddressesAttr(ArrayAttr::get(run.getContext(), addresses));
    return success();
  }
};

} // namespace
