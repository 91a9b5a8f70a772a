//===- BindOperands.cpp - Says where the operands of runs are -------------===//
//
// Before: runs name tasks. After: each run binds every operand of its task to
// an address in a buffer, or to a slot, which has no number yet.
//
//   pp.run @s0_F microbatch 1                                 // before
//   pp.run @s0_F microbatch 1 (<input, "x"> + 128, slot -1)   // after
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BINDOPERANDS
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct BindOperands : pp::impl::BindOperandsBase<BindOperands> {
  void runOnOperation() override {
    SlotUses uses(getOperation());
    BufferIndex buffers(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>())
        if (failed(bind(run, uses, buffers)))
          return signalPassFailure();
  }

private:
  static LogicalResult bind(RunOp run, const SlotUses &uses,
                            const BufferIndex &buffers) {
    if (run.getBindings())
      return run.emitOpError("has bindings already");
    MLIRContext *context = run.getContext();
    SmallVector<Attribute> bindings;
    for (const TaskOperand &operand : uses.getOperands(uses.getTask(run))) {
      if (isValue(operand.role.getKind())) {
        bindings.push_back(SlotAttr::get(context, SlotAttr::kUnassigned));
        continue;
      }
      FailureOr<AddressAttr> address =
          buffers.getAddress(run, uses.getTask(run), operand);
      if (failed(address))
        return failure();
      bindings.push_back(*address);
    }
    run.setBindingsAttr(ArrayAttr::get(context, bindings));
    return success();
  }
};

} // namespace
